import type {
  FamilyLoad,
  PacketReport,
  RehearsalReport,
} from "../../../../lib/doctor/rehearsal/report.ts";
import type { CheckCases } from "../check_cases.ts";
import { known } from "../facts_in_memory.ts";

const load: FamilyLoad = {
  family: "IPv4",
  servicePorts: 3,
  frontends: 5,
  endpoints: 4,
  messages: 105,
  milliseconds: 12,
  error: undefined,
};
const packets: PacketReport = {
  kind: "sent",
  sent: 9,
  tried: 5,
  frontends: 5,
  milliseconds: 2,
  faults: [],
};
const fault = {
  frontend: "172.30.0.10:53/UDP",
  servicePort: "kube-system/dns:dns/UDP",
  what: "expected endpoint 10.128.0.2:53, nothing came out",
};

function rehearsal(rest: Partial<RehearsalReport> = {}) {
  return known({ families: [load], kernelBytes: 1_200_000, packets, notices: [], ...rest });
}

const none = { kind: "absent", because: "none" } as const;

export const dry01: CheckCases = {
  id: "DRY01",
  cases: [
    {
      name: "all is well",
      facts: { rehearsal: rehearsal(), servedNow: none, serviceRanges: none },
      result: "pass",
      says: [
        "IPv4: 3 service ports, 5 frontends, 4 endpoints loaded in 12 ms (105 messages)",
        "Kernel memory grew by about 2 MB meanwhile",
        "9 packets to all 5 frontends in 2 ms: all as they should",
        "Ports of a cluster IP that no Service has are refused from then on, and " +
        "addresses inside a ServiceCIDR that no Service has are dropped.",
        "Settings below net.ipv4.vs have no effect any more.",
      ],
      advice: [],
    },
    {
      name: "a sample, and words of the writer",
      facts: {
        rehearsal: rehearsal({ packets: { ...packets, frontends: 9_000 }, notices: ["no room"] }),
      },
      result: "pass",
      says: ["9 packets to 5 of 9000 frontends in 2 ms: all as they should", "no room"],
    },
    {
      name: "no device for packets",
      facts: { rehearsal: rehearsal({ packets: { kind: "none", because: "no such device" } }) },
      result: "pass",
      says: ["No packet was sent: no such device"],
    },
    {
      name: "addresses inside a ServiceCIDR",
      facts: { rehearsal: rehearsal(), serviceRanges: known(["route 172.30.9.0/24 by eth1"]) },
      result: "pass",
      says: ["Inside a ServiceCIDR, so what goes there is dropped: route 172.30.9.0/24 by eth1"],
    },
    {
      name: "the kernel refuses the rules",
      facts: { rehearsal: rehearsal({ families: [{ ...load, error: "no numgen" }] }) },
      result: "fail",
      says: ["The kernel refuses the IPv4 rules: no numgen"],
      unfixable: true,
    },
    {
      name: "a packet goes astray",
      facts: { rehearsal: rehearsal({ packets: { ...packets, faults: [fault] } }) },
      result: "fail",
      says: [
        "172.30.0.10:53/UDP of kube-system/dns:dns/UDP: " +
        "expected endpoint 10.128.0.2:53, nothing came out",
      ],
    },
    {
      name: "many go astray",
      facts: {
        rehearsal: rehearsal({ packets: { ...packets, faults: Array(13).fill(fault) } }),
      },
      result: "fail",
      says: ["and 3 more"],
    },
    {
      name: "an address of each side alone",
      facts: {
        rehearsal: rehearsal(),
        servedNow: known({ onlyNow: ["172.30.0.7:80/TCP"], onlyThen: ["172.30.0.8:80/TCP"] }),
      },
      result: "warn",
      says: [
        "These would stop answering: 172.30.0.7:80/TCP",
        "These would begin to answer: 172.30.0.8:80/TCP",
      ],
    },
    {
      name: "the same addresses on both sides",
      facts: { rehearsal: rehearsal(), servedNow: known({ onlyNow: [], onlyThen: [] }) },
      result: "pass",
    },
    {
      name: "no cluster",
      facts: { rehearsal: { kind: "lacking", because: "no apiserver" } },
      result: "skip",
      says: ["no apiserver"],
    },
    {
      name: "no right to make a namespace",
      facts: { rehearsal: { kind: "unknown", because: "not permitted", advice: ["be root"] } },
      result: "unknown",
      says: ["not permitted"],
      advice: ["be root"],
    },
  ],
};
