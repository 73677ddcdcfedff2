import assert from "node:assert/strict";
import type { Conntrack, Flow } from "../../../lib/kernel/conntrack/conntrack.ts";
import { NetlinkConntrack } from "../../../lib/kernel/conntrack/netlink_conntrack.ts";
import { type OwnNamespace, withOwnNamespace } from "../rig/own_namespace.ts";

interface Entry {
  readonly client: string;
  readonly clientPort: number;
  readonly destination: string;
  readonly port: number;
  readonly endpoint: string;
  readonly endpointPort: number;
  readonly protocol?: "udp" | "tcp";
}

const dns = { destination: "172.30.0.10", port: 53, endpoint: "10.128.1.9", endpointPort: 5353 };
const dns6 = {
  destination: "fd00:172:30::a",
  port: 53,
  endpoint: "fd00:10:128::9",
  endpointPort: 5353,
};

/** Puts an entry into the table with the tool, as if a packet had been translated. */
async function insert(namespace: OwnNamespace, entry: Entry): Promise<void> {
  const { client, clientPort, destination, endpoint, endpointPort, port } = entry;
  const protocol = entry.protocol ?? "udp";
  await namespace.run(
    ...["conntrack", "-I", "-s", client, "-d", destination, "-r", endpoint, "-q", client],
    ...["-p", protocol, "--sport", `${clientPort}`, "--dport", `${port}`],
    ...["--reply-port-src", `${endpointPort}`, "--reply-port-dst", `${clientPort}`],
    ...["-t", "600", ...(protocol === "tcp" ? ["--state", "ESTABLISHED"] : [])],
  );
}

/** What the tool lists, as `source destination sport dport` of both directions. */
async function oracle(namespace: OwnNamespace, family: string, protocol: string) {
  const text = await namespace.run("conntrack", "-L", "-f", family, "-p", protocol);
  return text.split("\n").filter((line) => line.includes("src=")).map((line) =>
    [...line.matchAll(/\b(?:src|dst|sport|dport)=(\S+)/g)].map(([, value]) => value).join(" ")
  ).sort();
}

function asText({ original, reply }: Flow): string {
  return [original, reply].flatMap((tuple) => [
    tuple.source,
    tuple.destination,
    tuple.sourcePort,
    tuple.destinationPort,
  ]).join(" ");
}

async function listed(
  namespace: OwnNamespace,
  conntrack: Conntrack,
  filter: Parameters<Conntrack["list"]>[0],
): Promise<readonly Flow[]> {
  return (await namespace.inside(() => conntrack.list(filter))).flows;
}

async function fill(namespace: OwnNamespace): Promise<void> {
  for (let i = 0; i < 4; i++) {
    await insert(namespace, { ...dns, client: "10.128.0.5", clientPort: 4000 + i });
    await insert(namespace, { ...dns6, client: "fd00:10:128::5", clientPort: 4000 + i });
  }
  await insert(namespace, {
    ...dns,
    destination: "172.30.0.11",
    client: "10.128.0.6",
    clientPort: 4000,
  });
  await insert(namespace, {
    ...dns,
    destination: "192.168.0.2",
    port: 30_053,
    client: "192.168.0.9",
    clientPort: 4000,
  });
  await insert(namespace, { ...dns, client: "10.128.0.7", clientPort: 4000, protocol: "tcp" });
}

Deno.test("NetlinkConntrack lists what `conntrack -L` lists", () =>
  withOwnNamespace(async (namespace) => {
    await fill(namespace);
    const conntrack = new NetlinkConntrack();
    const rows = [["IPv4", "ipv4", 17, "udp"], ["IPv4", "ipv4", 6, "tcp"], [
      "IPv6",
      "ipv6",
      17,
      "udp",
    ]] as const;
    for (const [family, toolFamily, protocol, toolProtocol] of rows) {
      const flows = await listed(namespace, conntrack, { family, protocol });
      const expected = await oracle(namespace, toolFamily, toolProtocol);
      assert.ok(expected.length > 0);
      assert.deepEqual(flows.map(asText).sort(), expected);
    }
  }));

Deno.test("NetlinkConntrack lists only what the filter and the caller want", () =>
  withOwnNamespace(async (namespace) => {
    await fill(namespace);
    const conntrack = new NetlinkConntrack();
    const udp = { family: "IPv4", protocol: 17 } as const;
    const count = async (filter: Parameters<Conntrack["list"]>[0]) =>
      (await listed(namespace, conntrack, filter)).length;
    assert.equal(await count(udp), 6);
    assert.equal(await count({ ...udp, destination: "172.30.0.10" }), 4);
    assert.equal(await count({ ...udp, destinationPort: 53 }), 5);
    assert.equal(await count({ ...udp, destinationPort: 30_053 }), 1);
    assert.equal(await count({ ...udp, destination: "172.30.0.10", destinationPort: 54 }), 0);
    const { complete, flows } = await namespace.inside(() =>
      conntrack.list(udp, { wanted: ({ original }) => original.sourcePort === 4001 })
    );
    assert.equal(flows.length, 1);
    assert.equal(complete, true);
  }));

Deno.test("NetlinkConntrack removes exactly the given entries and counts those that were there", () =>
  withOwnNamespace(async (namespace) => {
    await fill(namespace);
    const conntrack = new NetlinkConntrack();
    const udp6 = { family: "IPv6", protocol: 17 } as const;
    const flows = await listed(namespace, conntrack, udp6);
    const remove = (some: readonly Flow[]) => namespace.inside(() => conntrack.remove(some));
    assert.equal(await remove(flows.slice(0, 2)), 2);
    assert.equal(await remove(flows), 2, "those that are gone are not counted");
    assert.deepEqual(await oracle(namespace, "ipv6", "udp"), []);
    assert.equal((await oracle(namespace, "ipv4", "udp")).length, 6);
    assert.equal(await remove([]), 0);
  }));

Deno.test("NetlinkConntrack does not remove another entry with the same addresses", () =>
  withOwnNamespace(async (namespace) => {
    const conntrack = new NetlinkConntrack();
    await insert(namespace, { ...dns, client: "10.128.0.5", clientPort: 4000 });
    const flows = await listed(namespace, conntrack, { family: "IPv4", protocol: 17 });
    const others = flows.map((flow) => ({ ...flow, id: (flow.id ^ 1) >>> 0 }));
    assert.equal(await namespace.inside(() => conntrack.remove(others)), 0);
    assert.equal((await oracle(namespace, "ipv4", "udp")).length, 1);
  }));

Deno.test("NetlinkConntrack finds by IPv6 address, which the kernel compares the wrong way round", () =>
  withOwnNamespace(async (namespace) => {
    await fill(namespace);
    const other = "fd00:172:30::b";
    await insert(namespace, {
      ...dns6,
      destination: other,
      client: "fd00:10:128::6",
      clientPort: 4000,
    });
    const conntrack = new NetlinkConntrack();
    const filter = { family: "IPv6", protocol: 17, destination: other } as const;
    const flows = await listed(namespace, conntrack, filter);
    assert.deepEqual(flows.map(({ original }) => original.destination), [other]);
  }));
