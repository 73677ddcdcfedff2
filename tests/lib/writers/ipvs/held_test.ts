/** Whose a virtual server is. */
import assert from "node:assert/strict";
import type { IpvsProtocol } from "../../../../lib/kernel/ipvs/ipvs.ts";
import { ownership } from "../../../../lib/writers/ipvs/held.ts";
import type { SetRole } from "../../../../lib/writers/ipvs/names.ts";

const sets: Partial<Record<SetRole, readonly string[]>> = {
  clusterIP: ["172.30.0.1,tcp:80"],
  externalIP: ["198.51.100.1,tcp:80"],
  externalIPLocal: ["198.51.100.2,tcp:80"],
  loadBalancer: ["203.0.113.1,udp:53"],
  nodePortTCP: ["30001"],
  nodePortUDP: ["30002"],
  nodePortSCTP: ["192.168.0.1,sctp:30003"],
};

const isOurs = ownership({
  own: new Set(["172.30.0.9"]),
  others: new Set(["192.168.0.1", "198.51.100.1"]),
  sets: new Map(
    (Object.keys(sets) as SetRole[]).map((role) => [role, new Set(sets[role] ?? [])]),
  ),
});

const cases: readonly (readonly [protocol: IpvsProtocol, at: string, ours: boolean])[] = [
  ["tcp", "172.30.0.9 443", true],
  ["tcp", "172.30.0.1 80", true],
  ["tcp", "172.30.0.1 81", false],
  ["udp", "172.30.0.1 80", false],
  ["tcp", "198.51.100.1 80", true],
  ["tcp", "198.51.100.2 80", true],
  ["udp", "203.0.113.1 53", true],
  ["tcp", "192.168.0.1 30001", true],
  ["udp", "192.168.0.1 30001", false],
  ["udp", "192.168.0.1 30002", true],
  ["sctp", "192.168.0.1 30003", true],
  ["sctp", "198.51.100.1 30003", false],
  ["tcp", "192.168.0.1 8443", false],
  ["tcp", "192.0.2.1 30001", false],
  ["tcp", "192.0.2.1 443", false],
];

for (const [protocol, at, ours] of cases) {
  Deno.test(`a ${protocol} server at ${at} is ${ours ? "ours" : "somebody else's"}`, () => {
    const [address, port] = at.split(" ");
    assert.equal(isOurs({ family: "IPv4", protocol, address, port: Number(port) }), ours);
  });
}
