import assert from "node:assert/strict";
import { outcomeOf } from "../../../../lib/doctor/rehearsal/outcome_of.ts";
import type { SeenPacket } from "../../../../lib/kernel/packets/read_packet.ts";

const sent = { id: 7, protocol: "TCP", sourcePort: 20_001 } as const;
const forwarded: SeenPacket = {
  kind: "forwarded",
  protocol: "TCP",
  source: "192.0.2.202",
  destination: "10.128.0.2",
  destinationPort: 8080,
  id: 7,
};
const refused: SeenPacket = { kind: "refused", protocol: "TCP", clientPort: 20_001 };

Deno.test("outcomeOf() knows a packet of ours again, and where it went", () => {
  assert.deepEqual(outcomeOf(forwarded, sent), {
    kind: "forwarded",
    to: "10.128.0.2",
    port: 8080,
    by: "192.0.2.202",
  });
  assert.deepEqual(outcomeOf(refused, sent), { kind: "refused" });
});

Deno.test("outcomeOf() passes over earlier packets and those of others", () => {
  assert.equal(outcomeOf({ ...forwarded, id: 6 }, sent), undefined);
  assert.equal(outcomeOf({ ...forwarded, protocol: "UDP" }, sent), undefined);
  assert.equal(outcomeOf({ ...refused, clientPort: 20_000 }, sent), undefined);
  assert.equal(outcomeOf({ ...refused, protocol: "SCTP" }, sent), undefined);
});
