/**
 * Whether this kernel can hold the rules. It is asked, not guessed from its version. nft: a batch with
 * every kind of rule that the mode can write, which ends in a change that cannot succeed; the kernel
 * judges each and then forgets them all. Some targets look at the table's name, so that the tables
 * are the real ones; nothing changes, not even the generation.
 */
import { describeError } from "../../base/errors.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { XtablesError } from "../../kernel/xtables/errors.ts";
import {
  builtInChains,
  type XtChange,
  type XtRule,
  type XtTable,
} from "../../kernel/xtables/rules.ts";
import type { Xtables } from "../../kernel/xtables/xtables.ts";
import { missingTool } from "../kube_chains/backend.ts";
import type { Probe } from "../writer.ts";

/** Chains of these names are nobody's: the batch must not meet what is there. */
const probeChain = "KUBE-PROXY-PROBE";
const neverThere = "KUBE-PROXY-NEVER-THERE";

/** Asks the kernel about one family. */
export async function probe(
  kernel: Kernel,
  xtables: Xtables,
  family: IpFamily,
): Promise<Probe> {
  if (xtables.backend === "legacy") return probeLegacy(kernel, family);
  const changes = probeChanges(family);
  try {
    await xtables.commit(family, changes);
  } catch (error) {
    return judge(error, changes.length - 1);
  }
  return { kind: "unknown", reason: "the kernel took what it should have refused" };
}

function probeLegacy(kernel: Kernel, family: IpFamily): Probe {
  const missing = missingTool(kernel, { backend: "legacy", family });
  if (missing === undefined) return { kind: "supported" };
  return { kind: "unsupported", reason: `${missing}, or set iptables.backend to nft` };
}

function judge(error: unknown, last: number): Probe {
  if (!(error instanceof XtablesError)) return { kind: "unknown", reason: describeError(error) };
  const { failures } = error;
  const isOpen = failures.some(({ refusal }) => refusal === "not-permitted" || refusal === "stale");
  if (isOpen) return { kind: "unknown", reason: describeError(error) };
  if (failures.every(({ change }) => change === last)) return { kind: "supported" };
  return { kind: "unsupported", reason: describeError(error) };
}

function probeChanges(family: IpFamily): readonly XtChange[] {
  const tables: readonly XtTable[] = ["nat", "filter"];
  return [
    ...tables.flatMap((table): readonly XtChange[] => [
      { kind: "add-table", table },
      { kind: "add-chain", table, chain: probeChain },
      ...probeRules(family)[table === "nat" ? "nat" : "filter"].map((rule): XtChange => ({
        kind: "append-rule",
        table,
        chain: probeChain,
        rule,
      })),
      // Only rules that something leads to are judged in full.
      ...builtInChains[table].filter((chain) => chain === "OUTPUT").map((chain): XtChange => ({
        kind: "insert-rule",
        table,
        chain,
        rule: { matches: [], target: { kind: "jump", chain: probeChain } },
      })),
    ]),
    { kind: "delete-chain", table: "nat", chain: neverThere },
  ];
}

function probeRules(family: IpFamily): Readonly<Record<"nat" | "filter", readonly XtRule[]>> {
  const isIpv4 = family === "IPv4";
  const address = isIpv4 ? "192.0.2.1" : "2001:db8::1";
  const name = "KUBE-SEP-AAAAAAAAAAAAAAAA";
  const cidr = `${address}/${isIpv4 ? 32 : 128}`;
  const sentTo = { kind: "dnat", address, port: 80 } as const;
  return {
    nat: [
      ...(["tcp", "udp", "sctp"] as const).map((protocol): XtRule => ({
        destination: { cidr },
        protocol,
        matches: [{ kind: "comment", text: "probe" }, { kind: "ports", protocol, destination: 80 }],
        target: sentTo,
      })),
      { protocol: "tcp", matches: [{ kind: "ports", protocol: "tcp" }], target: sentTo },
      { matches: [{ kind: "statistic", chance: 1 }] },
      { matches: [{ kind: "recent-check", name, seconds: 1 }] },
      { matches: [{ kind: "recent-set", name }] },
      { matches: [{ kind: "addrtype", destination: "LOCAL" }] },
      { matches: [{ kind: "mark", value: 1, mask: 1 }] },
      { matches: [], target: { kind: "set-xmark", value: 0, mask: 0 } },
    ],
    filter: [
      { matches: [{ kind: "conntrack", states: ["NEW"] }], target: { kind: "reject" } },
    ],
  };
}
