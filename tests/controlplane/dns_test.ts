/** A server that is known by name, and a resolver that goes away: in a mount namespace with an /etc/hosts of its own. */
import assert from "node:assert/strict";
import { ApiClient } from "./rig/api.ts";
import { ControlPlane, type ControlPlaneAccess } from "./rig/control_plane.ts";
import { namespaceObject, serviceObject } from "./rig/objects.ts";
import { TcpRelay } from "./rig/relay.ts";

const name = "kubernetes.default.svc";
const outageMs = 4_000;

Deno.test("a watch of a real apiserver goes on when its name stops resolving for a while", async () => {
  await using plane = await ControlPlane.start();
  const { access } = plane;
  using api = new ApiClient(access);
  await api.create(namespaceObject("shop"));
  const create = (name: string) => api.create(serviceObject({ namespace: "shop", name }));
  using relay = new TcpRelay(access.url);
  const folder = await Deno.makeTempDir();
  const hosts = `${folder}/hosts`;
  await Deno.writeTextFile(hosts, `127.0.0.1 ${name}\n`);
  await Deno.writeTextFile(`${folder}/resolv.conf`, "nameserver 127.0.0.1\n");
  const url = `https://${name}:${relay.host.split(":")[1]}`;
  const child = startFollower({ ...access, url }, folder);
  const lines = linesOf(child.stdout).getReader();
  try {
    await create("early");
    await untilLine(lines, "shop/early", 20_000);
    await Deno.writeTextFile(hosts, "");
    relay.cut();
    const { accepted } = relay;
    await create("late");
    await new Promise((resolve) => setTimeout(resolve, outageMs));
    assert.equal(relay.accepted, accepted, "the name still resolved");
    await Deno.writeTextFile(hosts, `127.0.0.1 ${name}\n`);
    await untilLine(lines, "shop/late", 3_000);
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await lines.cancel();
    await Deno.remove(folder, { recursive: true });
  }
});

/** The files are bound, so writing them here changes them there. */
function startFollower(access: ControlPlaneAccess, folder: string) {
  const script = 'mount --bind "$FOLDER/hosts" /etc/hosts && ' +
    'mount --bind "$FOLDER/resolv.conf" /etc/resolv.conf && exec "$@"';
  return new Deno.Command("unshare", {
    args: ["--mount", "sh", "-c", script, "sh", Deno.execPath(), "run", "-A", "--no-check"]
      .concat(new URL("rig/follow_process.ts", import.meta.url).pathname, JSON.stringify(access)),
    env: { FOLDER: folder },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

function linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<string> {
  let rest = "";
  const lines = new TransformStream<string, string>({
    transform: (text, controller) => {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) controller.enqueue(part);
    },
  });
  return stream.pipeThrough(new TextDecoderStream()).pipeThrough(lines);
}

async function untilLine(
  lines: ReadableStreamDefaultReader<string>,
  wanted: string,
  deadlineMs: number,
): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`Not in ${deadlineMs} ms: ${wanted}`)),
    deadlineMs,
  );
  try {
    for (;;) {
      const { value, done } = await Promise.race([lines.read(), promise]);
      if (done) throw new Error(`The process ended before it said ${wanted}`);
      if (value === wanted) return;
    }
  } finally {
    clearTimeout(timer);
  }
}
