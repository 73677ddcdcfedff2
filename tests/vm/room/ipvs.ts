/** IPVS beside the tool `ipvsadm`, on the kernel of a guest. */
import assert from "node:assert/strict";
import type { IpvsChange, IpvsServer } from "../../../lib/kernel/ipvs/ipvs.ts";
import { NetlinkIpvs } from "../../../lib/kernel/ipvs/netlink_ipvs.ts";
import { destinationText, serverText } from "../../../lib/kernel/ipvs/text.ts";
import { SystemCommands } from "../../../lib/kernel/commands.ts";
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import { NetlinkLinks } from "../../../lib/kernel/links/netlink_links.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import {
  behaviourCases,
  checkCase,
  checkParts,
  checkTimeouts,
  pod,
  web,
} from "../../lib/kernel/ipvs/behaviour_cases.ts";

const ipvs = new NetlinkIpvs({
  files: new KernelFiles(),
  commands: new SystemCommands("/usr/sbin:/sbin"),
});

function hasModule(): boolean {
  return [...Deno.readDirSync("/sys/module")].some(({ name }) => name === "ip_vs");
}

async function saved(): Promise<readonly string[]> {
  return (await runCommand(["ipvsadm", "-Sn"])).trim().split("\n").filter(Boolean).sort();
}

function texts(): readonly string[] {
  return ipvs.read().flatMap(({ destinations, server }) => [
    serverText(server),
    ...destinations.map((destination) => destinationText(server, destination)),
  ]).sort();
}

Deno.test("readers do not load IPVS, and a change does not either", async () => {
  assert.equal(hasModule(), false);
  assert.deepEqual([ipvs.version(), ipvs.read(), ipvs.find(web)], [undefined, [], undefined]);
  const change = { kind: "add-server", server: web } as const;
  await assert.rejects(ipvs.commit([change]), { name: "KernelModuleError", module: "ip_vs" });
  assert.throws(() => ipvs.timeouts(), { name: "KernelModuleError" });
  assert.equal(hasModule(), false);
});

Deno.test("loading without a module and without modprobe says what is missing", async () => {
  // Where the kernel loads it by itself, it is told that the program to do it with is elsewhere.
  await Deno.writeTextFile("/proc/sys/kernel/modprobe", "/none");
  try {
    const none = new NetlinkIpvs({
      files: new KernelFiles(),
      commands: new SystemCommands("/none"),
    });
    await assert.rejects(none.load(), {
      name: "KernelModuleError",
      message: 'Cannot use IPVS: the kernel module "ip_vs" is not loaded (modprobe is not ' +
        'installed here); run "modprobe ip_vs" on the node, or install the kernel\'s modules there',
    });
  } finally {
    await Deno.writeTextFile("/proc/sys/kernel/modprobe", "/sbin/modprobe");
  }
});

Deno.test("IPVS is loaded when it is wanted", async () => {
  await ipvs.load();
  assert.match(ipvs.version() ?? "", /^\d+\.\d+\.\d+$/);
  await ipvs.load();
});

for (const row of behaviourCases) {
  Deno.test(`IPVS of the kernel: ${row.name}`, () => checkCase(ipvs, row));

  if (row.refused) continue;
  Deno.test(`the tool saves what we wrote, and we read what it restores: ${row.name}`, async () => {
    await ipvs.commit([...row.given ?? [], ...row.changes]);
    assert.deepEqual(await saved(), row.left);
    await runCommand(["ipvsadm", "-C"]);
    await runCommand(["ipvsadm", "-R"], `${row.left.join("\n")}\n`);
    assert.deepEqual(texts(), row.left);
    await runCommand(["ipvsadm", "-C"]);
  });
}

Deno.test("IPVS of the kernel is read in parts", () => checkParts(ipvs));

Deno.test("timeouts are set as the fake's", () => checkTimeouts(ipvs));

Deno.test("servers by firewall mark are somebody else's", async () => {
  await runCommand(["ipvsadm", "-A", "-f", "7", "-s", "rr"]);
  await runCommand(["ipvsadm", "-a", "-f", "7", "-r", "10.128.0.5", "-m"]);
  await ipvs.commit([{ kind: "add-server", server: web }]);
  assert.deepEqual(texts(), ["-A -t 10.96.0.1:80 -s rr"]);
  await runCommand(["ipvsadm", "-C"]);
});

Deno.test("connections of a destination are counted, and stay when its weight is 0", async () => {
  const links = new NetlinkLinks();
  const { index: linkIndex } = links.ensureDummy("kube-ipvs0");
  await links.changeAddresses([
    { kind: "add", linkIndex, ip: web.address, prefixLength: 32 },
    { kind: "add", linkIndex, ip: pod.address, prefixLength: 32 },
  ]);
  using listener = Deno.listen({ hostname: pod.address, port: pod.port });
  await ipvs.commit([
    { kind: "add-server", server: web },
    { kind: "add-destination", server: web, destination: pod },
  ]);
  {
    using _client = await Deno.connect({ hostname: web.address, port: web.port });
    using _server = await listener.accept();
    const [before] = ipvs.find(web)?.destinations ?? [];
    assert.deepEqual(before, { ...pod, activeConnections: 1, inactiveConnections: 0 });
    const destination = { ...pod, weight: 0 };
    await ipvs.commit([{ kind: "edit-destination", server: web, destination }]);
    const [after] = ipvs.read()[0].destinations;
    assert.deepEqual(after, { ...destination, activeConnections: 1, inactiveConnections: 0 });
  }
  await runCommand(["ipvsadm", "-C"]);
  links.remove("kube-ipvs0");
});

/** So many servers with two destinations each. */
function manyServers(count: number): readonly IpvsChange[] {
  return Array.from({ length: count }, (_, index): IpvsServer => ({
    ...web,
    address: `10.97.${index >> 8}.${index & 255}`,
  })).flatMap((server): readonly IpvsChange[] => [
    { kind: "add-server", server },
    { kind: "add-destination", server, destination: pod },
    { kind: "add-destination", server, destination: { ...pod, port: 8081 } },
  ]);
}

Deno.test("many servers are read whole while somebody else adds and deletes others", async () => {
  const count = 500;
  assert.deepEqual(await ipvs.commit(manyServers(count)), []);
  const lines = Array.from({ length: 300 }, (_, port) => `-A -t 10.98.0.1:${port + 1} -s rr`);
  const gone = lines.map((line) => line.replace("-A", "-D").replace(" -s rr", ""));
  const input = `${[...lines, ...gone].join("\n")}\n`;
  let reads = 0;
  const isDone = () => reads >= 10;
  const hands = (async () => {
    while (!isDone()) await runCommand(["ipvsadm", "-R"], input);
  })();
  let torn = 0;
  for (; !isDone(); reads++) {
    const entries = ipvs.read().filter(({ server }) => server.address.startsWith("10.97."));
    const names = new Set(entries.map(({ server }) => server.address));
    if (names.size !== count || entries.length !== count) torn++;
    if (entries.some(({ destinations }) => destinations.length !== 2)) torn++;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await hands;
  assert.equal(torn, 0, `of ${reads}`);
  await runCommand(["ipvsadm", "-C"]);
});
