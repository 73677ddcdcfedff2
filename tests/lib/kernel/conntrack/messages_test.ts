import assert from "node:assert/strict";
import type { Flow } from "../../../../lib/kernel/conntrack/conntrack.ts";
import {
  conntrackHeader,
  ConntrackMessage,
  readFlow,
  writeFilter,
  writeFlowIdentity,
} from "../../../../lib/kernel/conntrack/messages.ts";
import { readAttributes } from "../../../../lib/kernel/netlink/attributes.ts";
import { readMessages } from "../../../../lib/kernel/netlink/messages.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";

const flow: Flow = {
  family: "IPv4",
  protocol: 17,
  original: {
    source: "10.128.0.5",
    destination: "172.30.0.10",
    sourcePort: 4000,
    destinationPort: 53,
  },
  reply: {
    source: "10.128.1.9",
    destination: "10.128.0.5",
    sourcePort: 5353,
    destinationPort: 4000,
  },
  id: 0xfedcba98,
  zone: 7,
};
const flow6: Flow = {
  ...flow,
  family: "IPv6",
  original: { ...flow.original, source: "fd00:10:128::5", destination: "fd00:172:30::a" },
  reply: { ...flow.reply, source: "fd00:10:128::9", destination: "fd00:10:128::5" },
  zone: 0,
};

/** What the kernel would send of the flow: its identity, and the reply as one more tuple. */
function written(entry: Flow): Uint8Array {
  const writer = new MessageWriter();
  writer.begin(
    { type: ConntrackMessage.create, flags: 0, sequence: 1 },
    conntrackHeader(entry.family),
  );
  writeFlowIdentity(writer, entry);
  const reply = new MessageWriter();
  reply.begin({ type: 0, flags: 0, sequence: 1 }, new Uint8Array(0));
  writeFlowIdentity(reply, { ...entry, original: entry.reply });
  reply.end();
  const tuple = readAttributes([...readMessages(reply.bytes())][0].payload).get(1);
  assert.ok(tuple);
  writer.raw(2, tuple);
  writer.end();
  return writer.bytes();
}

for (const entry of [flow, flow6]) {
  Deno.test(`readFlow() reads an ${entry.family} entry back`, () => {
    const [message] = readMessages(written(entry));
    assert.deepEqual(readFlow(message), entry);
  });
}

Deno.test("readFlow() gives nothing for an entry without its reply", () => {
  const writer = new MessageWriter();
  writer.begin({ type: 0, flags: 0, sequence: 1 }, conntrackHeader("IPv4"));
  writeFlowIdentity(writer, flow);
  writer.end();
  const [message] = readMessages(writer.bytes());
  assert.equal(readFlow(message), undefined);
});

Deno.test("readFlow() refuses an attribute that is longer than its message", () => {
  const bytes = written(flow).slice();
  // The length of CTA_TUPLE_ORIG, behind nlmsghdr and nfgenmsg.
  bytes[20] = 0xff;
  bytes[21] = 0xff;
  const [message] = readMessages(bytes);
  assert.throws(() => readFlow(message), RangeError);
});

const filters: readonly {
  name: string;
  flags: number;
  filter: Parameters<typeof writeFilter>[1];
}[] = [
  { name: "a protocol", flags: 0x08, filter: { family: "IPv4", protocol: 17 } },
  {
    name: "a port",
    flags: 0x28,
    filter: { family: "IPv4", protocol: 17, destinationPort: 53 },
  },
  {
    name: "an address",
    flags: 0x0a,
    filter: { family: "IPv4", protocol: 17, destination: "172.30.0.10" },
  },
  {
    name: "a port alone of an IPv6 address and port",
    flags: 0x28,
    filter: { family: "IPv6", protocol: 17, destination: "fd00:172:30::a", destinationPort: 53 },
  },
  {
    name: "an address and a port",
    flags: 0x2a,
    filter: { family: "IPv4", protocol: 17, destination: "172.30.0.10", destinationPort: 53 },
  },
];

for (const { filter, flags, name } of filters) {
  Deno.test(`writeFilter() flags ${name}, and always carries a tuple that is not whole`, () => {
    const writer = new MessageWriter();
    writer.begin({ type: 0, flags: 0, sequence: 1 }, conntrackHeader(filter.family));
    writeFilter(writer, filter);
    writer.end();
    const [message] = readMessages(writer.bytes());
    const attributes = readAttributes(message.payload.subarray(4));
    const filterAttribute = attributes.get(25);
    assert.ok(filterAttribute);
    const originalFlags = readAttributes(filterAttribute).get(1);
    assert.deepEqual([...originalFlags ?? []], [flags, 0, 0, 0]);
    const tuple = attributes.get(1);
    assert.ok(tuple);
    const ip = readAttributes(tuple).get(1);
    assert.ok(!ip || !readAttributes(ip).has(filter.family === "IPv4" ? 1 : 3), "no source");
  });
}
