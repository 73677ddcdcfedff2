import assert from "node:assert/strict";
import { FakeConntrack } from "../../../../lib/kernel/conntrack/fake_conntrack.ts";

const entry = {
  family: "IPv4",
  protocol: 17,
  original: {
    source: "10.128.0.5",
    destination: "172.30.0.10",
    sourcePort: 4000,
    destinationPort: 53,
  },
  reply: { source: "10.128.1.9", destination: "10.128.0.5", sourcePort: 53, destinationPort: 4000 },
} as const;
const other = { ...entry, original: { ...entry.original, destination: "172.30.0.11" } };
const udp = { family: "IPv4", protocol: 17 } as const;

Deno.test("FakeConntrack removes the given entries, and counts them", async () => {
  const table = new FakeConntrack([entry, other]);
  const { flows } = await table.list({ ...udp, destination: "172.30.0.10" });
  assert.equal(await table.remove(flows), 1);
  assert.equal(await table.remove(flows), 0);
  assert.equal(table.flows.length, 1);
});

Deno.test("FakeConntrack does not take a new entry for an old one with its addresses", async () => {
  const table = new FakeConntrack([entry]);
  const old = await table.list(udp);
  await table.remove(old.flows);
  table.add(entry);
  assert.equal(await table.remove(old.flows), 0);
});
