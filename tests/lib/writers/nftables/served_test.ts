import assert from "node:assert/strict";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import type { NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { served } from "../../../../lib/writers/nftables/served.ts";
import { sets, type StaticSetName } from "../../../../lib/writers/nftables/sets.ts";
import { noSignal } from "./harness.ts";

const element = (set: StaticSetName, key: readonly (string | number)[]): NftOperation => ({
  kind: "add-elements",
  set,
  elements: [{ key, value: { kind: "drop" } }],
});

const base: readonly NftOperation[] = [
  { kind: "add-table" },
  { kind: "add-set", set: sets["service-ips"] },
  { kind: "add-set", set: sets["no-endpoint-services"] },
];

Deno.test("served() tells the addresses that lead to endpoints, of both families", async () => {
  const { tables } = new FakeKernel();
  const kernel = new FakeKernel({ tables });
  await tables.commit(tableOf("IPv6"), [
    ...base,
    element("service-ips", ["fd00:172:30::1", "sctp", 99]),
  ]);
  await tables.commit(tableOf("IPv4"), [
    ...base,
    element("service-ips", ["172.30.0.1", "tcp", 443]),
    element("service-ips", ["172.30.0.10", "udp", 53]),
    element("service-ips", ["172.30.0.11", "tcp", 80]),
    element("no-endpoint-services", ["172.30.0.11", "tcp", 80]),
    element("no-endpoint-services", ["172.30.0.10", "tcp", 53]),
  ]);
  assert.deepEqual(await served(kernel, noSignal), [
    { ip: "172.30.0.1", port: 443, protocol: "TCP" },
    { ip: "172.30.0.10", port: 53, protocol: "UDP" },
    // Refused to outsiders alone: its endpoints are on other nodes.
    { ip: "172.30.0.11", port: 80, protocol: "TCP" },
    { ip: "fd00:172:30::1", port: 99, protocol: "SCTP" },
  ]);
});

Deno.test("served() tells nothing of a table that decides nothing, and of one without the map", async () => {
  const kernel = new FakeKernel();
  assert.deepEqual(await served(kernel, noSignal), []);
  await kernel.tables.commit(tableOf("IPv6"), [{ kind: "add-table" }]);
  await kernel.tables.commit(tableOf("IPv4"), [
    ...base,
    element("service-ips", ["172.30.0.1", "tcp", 443]),
  ]);
  assert.equal((await served(kernel, noSignal)).length, 1);
  await kernel.tables.commit(tableOf("IPv4"), [{ kind: "add-table", dormant: true }]);
  assert.deepEqual(await served(kernel, noSignal), []);
});
