/** IPVS beside the tool `ipvsadm`, on the kernel of a guest. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import type { IpvsChange, IpvsServer } from "../../../lib/kernel/ipvs/ipvs.ts";
import { NetlinkIpvs } from "../../../lib/kernel/ipvs/netlink_ipvs.ts";
import { destinationText, frontendText, serverText } from "../../../lib/kernel/ipvs/text.ts";
import { SystemCommands } from "../../../lib/kernel/commands.ts";
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import { NetlinkLinks } from "../../../lib/kernel/links/netlink_links.ts";
import { ipvsReader } from "../../../lib/doctor/facts/ipvs.ts";
import { countOpenConnections } from "../../../lib/kernel/ipvs/proc_connections.ts";
import { readTable } from "../../../lib/kernel/ipvs/proc_table.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import { FactsInMemory, known } from "../../lib/doctor/facts_in_memory.ts";
import { tellOutside } from "../outside.ts";
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
  assert.equal(ipvs.countMarkServers(), 1);
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

Deno.test("servers are read whole, also by doctor, where another network namespace has some too", async () => {
  const count = 300;
  const other = `other-${crypto.randomUUID().slice(0, 8)}`;
  await runCommand(["ip", "netns", "add", other]);
  try {
    const lines = Array.from({ length: count }, (_, port) => `-A -t 10.99.0.1:${port + 1} -s rr`);
    const inOther = ["ip", "netns", "exec", other, "ipvsadm"];
    await runCommand([...inOther, "-R"], `${lines.join("\n")}\n`);
    assert.deepEqual(await ipvs.commit(manyServers(count)), []);
    await runCommand(["ipvsadm", "-A", "-f", "7", "-s", "rr"]);
    assert.equal(ipvs.read().length, count);
    assert.equal(ipvs.countMarkServers(), 1);

    const rights = { hasNetAdmin: true, isInNodeNetwork: true };
    const files = new KernelFiles();
    const fact = await ipvsReader({ files, hostRoot: "", ipvs }).read({
      signal: new AbortController().signal,
      facts: new FactsInMemory({ rights: known(rights) }),
    });
    assert.ok(fact.kind === "value");
    assert.deepEqual([fact.value.servers.length, fact.value.markServers], [count, 1]);
    const inTheFile = readTable(files.readNet("ip_vs") ?? "").length;
    tellOutside("measured", { title: `of ${count} servers /proc/net/ip_vs tells`, inTheFile });
  } finally {
    await runCommand(["ipvsadm", "-C"]);
    await runCommand(["ip", "netns", "delete", other]);
  }
});

/** Opens a connection to each server, all of which have one and the same listener behind them. */
async function connectAll(
  servers: readonly IpvsServer[],
  listener: Deno.Listener,
): Promise<readonly Deno.Conn[]> {
  const held: Deno.Conn[] = [];
  for (const { address, port } of servers) {
    const client = await Deno.connect({ hostname: address, port });
    held.push(client, await listener.accept());
  }
  return held;
}

/** A datagram from each of so many ports: IPVS remembers each for as long as it is told to. */
async function sendFromMany(to: IpvsServer, count: number): Promise<void> {
  for (let left = count; left > 0; left--) {
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.send("x", to.port, to.address, () => resolve()));
    socket.close();
  }
}

Deno.test("open connections are found while many others end", async () => {
  const servers = Array.from(
    { length: 60 },
    (_, index): IpvsServer => ({ ...web, port: 1_000 + index }),
  );
  const dns: IpvsServer = { ...web, protocol: "udp", port: 53 };
  const links = new NetlinkLinks();
  const { index: linkIndex } = links.ensureDummy("kube-ipvs0");
  await links.changeAddresses(
    [web.address, pod.address].map((ip) => ({ kind: "add", linkIndex, ip, prefixLength: 32 })),
  );
  const before = ipvs.timeouts();
  ipvs.setTimeouts({ udp: 1 });
  const changes = [...servers, dns].flatMap((server): readonly IpvsChange[] => [
    { kind: "add-server", server },
    { kind: "add-destination", server, destination: pod },
  ]);
  assert.deepEqual(await ipvs.commit(changes), []);
  using listener = Deno.listen({ hostname: pod.address, port: pod.port });
  const held = await connectAll(servers, listener);
  const files = new KernelFiles();
  const missed = { alone: 0, together: 0 };
  for (let reading = 0; reading < 100; reading++) {
    await sendFromMany(dns, 40);
    const text = files.readNet("ip_vs_conn") ?? "";
    const once = countOpenConnections(() => text, servers.map(frontendText));
    missed.alone += servers.length - once.size;
    missed.together += servers.length - ipvs.openConnections(servers).size;
  }
  for (const connection of held) connection.close();
  ipvs.setTimeouts(before);
  await runCommand(["ipvsadm", "-C"]);
  links.remove("kube-ipvs0");
  tellOutside("measured", { title: "open connections that were missed", ...missed });
  assert.equal(missed.together, 0);
});
