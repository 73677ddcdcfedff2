import { check, type Finding } from "../check.ts";
import { counted } from "../judging/findings.ts";
import type { FamilyLoad, PacketFault, RehearsalReport } from "../rehearsal/report.ts";

const mostNamed = 10;

/** DRY01: this node's rules, loaded and tried where they touch nothing. */
export const rehearse = check({
  id: "DRY01",
  group: "rehearsal",
  title: "rehearse",
  why: "What this kernel refuses, or serves otherwise than it should, would show on the live node.",
  looks:
    "Builds the whole ruleset of this node from the apiserver (or --manifests) as run does, loads it in " +
    "a network namespace of its own, and sends a packet to every frontend through a device that " +
    "leads back into doctor. Then compares the addresses with those that are served now.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/#proxy-mode-nftables"],
  results: ["pass", "warn", "fail"],
  needs: ["rehearsal"],
  wants: ["servedNow", "serviceRanges"],
  timeoutMs: 60_000,
  judge: ({ facts: { rehearsal }, tried: { servedNow, serviceRanges } }) => {
    if (!rehearsal) return [];
    const now = servedNow.kind === "value" ? servedNow.value : undefined;
    const ranges = serviceRanges.kind === "value" ? serviceRanges.value : undefined;
    return [
      ...rehearsal.families.flatMap(refusal),
      ...misled(rehearsal),
      ...oneSided("stop answering", now?.onlyNow ?? []),
      ...oneSided("begin to answer", now?.onlyThen ?? []),
      {
        level: "pass",
        subject: subjectOf(rehearsal),
        evidence: [
          ...summary(rehearsal),
          "Ports of a cluster IP that no Service has are refused from then on, and addresses inside a " +
          "ServiceCIDR that no Service has are dropped.",
          ...(ranges ?? []).map((each) =>
            `Inside a ServiceCIDR, so what goes there is dropped: ${each}`
          ),
          "Settings below net.ipv4.vs have no effect any more.",
        ],
        advice: [],
      },
    ];
  },
});

function refusal({ error, family }: FamilyLoad): readonly Finding[] {
  if (error === undefined) return [];
  return [{
    level: "fail",
    subject: `the ${family} rules`,
    evidence: [`The kernel refuses the ${family} rules: ${error}`],
    advice: ["Keep the mode that serves this node now, and report this with the output of doctor."],
    unfixable: true,
  }];
}

function misled({ packets }: RehearsalReport): readonly Finding[] {
  if (packets.kind === "none" || packets.faults.length === 0) return [];
  return [{
    level: "fail",
    subject: named(packets.faults.map(({ frontend }) => frontend), 3),
    evidence: listed(packets.faults, describeFault),
    advice: ["Keep the mode that serves this node now, and report this with the output of doctor."],
  }];
}

function describeFault({ frontend, servicePort, what }: PacketFault): string {
  return `${frontend} of ${servicePort}: ${what}`;
}

function oneSided(what: string, frontends: readonly string[]): readonly Finding[] {
  if (frontends.length === 0) return [];
  return [{
    level: "warn",
    subject: "what is served now, beside the rehearsal",
    evidence: [`These would ${what}: ${named(frontends, mostNamed)}`],
    advice: [],
  }];
}

function subjectOf({ families }: RehearsalReport): string {
  return `a scratch network namespace, ${families.map(({ family }) => family).join(" and ")}`;
}

function summary({ families, kernelBytes, notices, packets }: RehearsalReport): readonly string[] {
  const loads = families.filter(({ error }) => error === undefined).map((each) =>
    [
      `${each.family}: ${counted(each.servicePorts, "service port")}`,
      counted(each.frontends, "frontend"),
      `${counted(each.endpoints, "endpoint")} loaded in ${each.milliseconds} ms ` +
      `(${counted(each.messages, "message")})`,
    ].join(", ")
  );
  const memory = `Kernel memory grew by about ${Math.ceil(kernelBytes / 1e6)} MB meanwhile`;
  return [...loads, memory, describePackets(packets), ...notices];
}

function describePackets(packets: RehearsalReport["packets"]): string {
  if (packets.kind === "none") return `No packet was sent: ${packets.because}`;
  const { faults, frontends, milliseconds, sent, tried } = packets;
  const which = tried === frontends ? `all ${frontends}` : `${tried} of ${frontends}`;
  const fared = faults.length === 0 ? "all as they should" : `${faults.length} otherwise`;
  return `${counted(sent, "packet")} to ${which} frontends in ${milliseconds} ms: ${fared}`;
}

function listed<T>(items: readonly T[], describe: (item: T) => string): readonly string[] {
  const rest = items.length - mostNamed;
  return [...items.slice(0, mostNamed).map(describe), ...(rest > 0 ? [`and ${rest} more`] : [])];
}

function named(items: readonly string[], most: number): string {
  const rest = items.length - most;
  return `${items.slice(0, most).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
