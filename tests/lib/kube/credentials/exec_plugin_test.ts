import assert from "node:assert/strict";
import { SystemCommands } from "../../../../lib/kernel/commands.ts";
import { Credentials } from "../../../../lib/kube/credentials/credentials.ts";
import type { PluginCommands } from "../../../../lib/kube/credentials/exec_plugin.ts";
import {
  anonymousAccess,
  type ClusterAccess,
  type ExecPlugin,
} from "../../../../lib/kube/credentials/kubeconfig.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { inFolder } from "../../../fakes/folder.ts";

const inline = (text: string) => ({ kind: "inline" as const, text });
const fresh = { refresh: false };
const system = new SystemCommands("/usr/bin:/bin");

function credentials(
  access: Partial<ClusterAccess>,
  { clock = new FakeClock(), commands = system as PluginCommands } = {},
): Credentials {
  return new Credentials({ ...anonymousAccess, server: "https://a", ...access }, {
    clock,
    commands,
  });
}

/** A plugin that counts its runs in a file and prints what the shell makes of `status`. */
function plugin(folder: string, status: string, changes: Partial<ExecPlugin> = {}): ExecPlugin {
  const apiVersion = "client.authentication.k8s.io/v1";
  const credential = `{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":${status}}`;
  const script = `echo "$KUBERNETES_EXEC_INFO" >>${folder}/runs; ` +
    `N=$(wc -l <${folder}/runs); cat <<END\n${credential}\nEND`;
  return {
    apiVersion,
    command: "sh",
    args: ["-c", script],
    env: [],
    provideClusterInfo: false,
    ...changes,
  };
}

const runs = (folder: string) =>
  Deno.readTextFileSync(`${folder}/runs`).trim().split("\n").map((line) => JSON.parse(line));

Deno.test("a credential plugin's token is used for a minute, and asked for anew when it was refused", () =>
  inFolder(async (folder) => {
    const clock = new FakeClock();
    const own = credentials({ exec: plugin(folder, '{"token":"t$N"}') }, { clock });
    const token = async (refresh: boolean) => (await own.current({ refresh })).headers[0]?.[1];
    assert.equal(await token(false), "Bearer t1");
    await clock.advance(59_000);
    assert.equal(await token(false), "Bearer t1");
    assert.equal(await token(true), "Bearer t2");
    await clock.advance(59_000);
    assert.equal(await token(false), "Bearer t2");
    assert.equal(runs(folder).length, 2);
  }));

Deno.test("a credential plugin is told the cluster where it wants to know it", () =>
  inFolder(async (folder) => {
    const certificateAuthority = inline("CA");
    for (const provideClusterInfo of [false, true]) {
      const exec = plugin(folder, '{"token":"t"}', { provideClusterInfo });
      await credentials({ exec, certificateAuthority }).current(fresh);
    }
    const cluster = { server: "https://a", "certificate-authority-data": btoa("CA") };
    const info = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential" };
    assert.deepEqual(runs(folder), [
      { ...info, spec: { interactive: false } },
      { ...info, spec: { interactive: false, cluster } },
    ]);
  }));

Deno.test("a credential plugin's certificate takes the place of one in the kubeconfig", () =>
  inFolder(async (folder) => {
    const status = '{"clientCertificateData":"CRT","clientKeyData":"KEY"}';
    const exec = plugin(folder, status);
    const { tls, headers } = await credentials({
      exec,
      certificateAuthority: inline("CA"),
      clientCertificate: inline("old"),
      clientKey: inline("old"),
    }).current(fresh);
    assert.deepEqual(tls, { certificateAuthority: "CA", certificate: "CRT", key: "KEY" });
    assert.deepEqual(headers, []);
  }));

Deno.test("a credential plugin gets the environment that the kubeconfig gives it", () =>
  inFolder(async (folder) => {
    const exec = plugin(folder, '{"token":"$WHO"}', { env: [{ name: "WHO", value: "me" }] });
    const { headers } = await credentials({ exec }).current(fresh);
    assert.deepEqual(headers, [["authorization", "Bearer me"]]);
  }));

Deno.test("a credential plugin is asked again when its answer expires", () =>
  inFolder(async (folder) => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    const status = '{"token":"t$N","expirationTimestamp":"2026-01-01T00:10:00Z"}';
    const own = credentials({ exec: plugin(folder, status) }, { clock });
    const token = async () => (await own.current(fresh)).headers[0]?.[1];
    assert.equal(await token(), "Bearer t1");
    await clock.advance(599_000);
    assert.equal(await token(), "Bearer t1");
    await clock.advance(1_000);
    assert.equal(await token(), "Bearer t2");
  }));

Deno.test("a credential plugin runs once for all who ask at the same time", () =>
  inFolder(async (folder) => {
    const own = credentials({ exec: plugin(folder, '{"token":"t$N"}') });
    const all = await Promise.all([1, 2, 3].map(() => own.current(fresh)));
    assert.deepEqual(all.map(({ headers }) => headers[0][1]), Array(3).fill("Bearer t1"));
    assert.equal((await own.current({ refresh: true })).headers[0][1], "Bearer t2");
  }));

const version = "client.authentication.k8s.io/v1";
const printing = (printed: string): Partial<ExecPlugin> => ({
  args: ["-c", `cat <<'END'\n${printed}\nEND`],
});
const answer = (fields: object) =>
  printing(JSON.stringify({ apiVersion: version, kind: "ExecCredential", ...fields }));
const nothing = "it printed neither a token nor a certificate with its key";
const half = "it printed a certificate without its key, or a key without its certificate";
const faults: readonly (readonly [string, Partial<ExecPlugin>, string])[] = [
  ["prints a credential of nothing", answer({ status: {} }), nothing],
  ["prints a credential without a status", answer({}), nothing],
  ["prints half a certificate", answer({ status: { clientCertificateData: "CRT" } }), half],
  ["prints a key alone", answer({ status: { token: "t", clientKeyData: "KEY" } }), half],
  ["prints half an object", printing("{"), "it printed no JSON"],
  [
    "prints something else",
    answer({ kind: "Status" }),
    'it printed a "Status" and no ExecCredential',
  ],
  [
    "speaks another version",
    answer({ apiVersion: "client.authentication.k8s.io/v1beta1" }),
    `it printed "client.authentication.k8s.io/v1beta1", and the kubeconfig says "${version}"`,
  ],
  ["fails without a word", { args: ["-c", "exit 3"] }, "exit code 3"],
  [
    "fails and says why",
    { args: ["-c", "echo first >&2; echo the login expired >&2; exit 1"] },
    "exit code 1: the login expired",
  ],
];

for (const [name, changes, cause] of faults) {
  Deno.test(`a credential plugin that ${name} is told of`, () =>
    inFolder((folder) =>
      assert.rejects(credentials({ exec: plugin(folder, "{}", changes) }).current(fresh), {
        message: `Cannot get credentials from "sh": ${cause}; run it by hand to see what it lacks`,
      })
    ));
}

Deno.test("a credential plugin that cannot be run is told of, and used once it can", () =>
  inFolder(async (folder) => {
    const command = `${folder}/plugin`;
    const exec = plugin(folder, '{"token":"t$N"}');
    const own = credentials({ exec: { ...exec, command } });
    const refused = (cause: RegExp) => assert.rejects(own.current(fresh), { message: cause });
    await refused(
      /^Cannot get credentials from "[^"]+": "[^"]+" is not installed; install it; run it by hand/,
    );
    // What interprets it is not there: the system says the same as of a missing file.
    Deno.writeTextFileSync(command, "#!/nonexistent/sh\n", { mode: 0o755 });
    await refused(/^Cannot get credentials from "[^"]+": .+; run it by hand to see what it lacks$/);
    Deno.removeSync(command);
    Deno.symlinkSync("/bin/sh", command);
    assert.equal((await own.current(fresh)).headers[0][1], "Bearer t1");
  }));

Deno.test("a credential plugin that never ends is given up", async () => {
  let limited: AbortSignal | undefined;
  const commands: PluginCommands = {
    run: (_argv, { signal }) => {
      limited = signal;
      return Promise.reject(new Error("killed by SIGTERM"));
    },
  };
  const exec = plugin("/nonexistent", "{}");
  await assert.rejects(
    credentials({ exec }, { commands }).current(fresh),
    /killed by SIGTERM; run it by hand/,
  );
  assert.ok(limited, "there is a limit");
});
