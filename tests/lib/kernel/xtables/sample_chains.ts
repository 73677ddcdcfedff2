/** The sample rules, each in a chain of its own, as text for a tool and as changes of ours. */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import { sampleRules, sampleTarget } from "./sample_rules.ts";

/** Where it is known that the kernel has IPVS. */
const hasIpvs = Deno.env.has("KUBE_PROXY_TEST_GUEST");

/** The sample rules that the kernel can hold, each in a chain of its own. */
export function sampleChains(family: IpFamily) {
  return sampleRules(family).filter(({ rule }) =>
    hasIpvs || !rule.matches.some(({ kind }) => kind === "ipvs")
  ).map((sample, index) => ({ ...sample, chain: `SAMPLE-${index}` }));
}

/** What a restore reads. */
export function sampleText(family: IpFamily): string {
  const samples = sampleChains(family);
  return (["nat", "filter"] as const).map((table) => {
    const own = samples.filter((sample) => sample.table === table);
    return [
      `*${table}`,
      `:${sampleTarget} - [0:0]`,
      ...own.map(({ chain }) => `:${chain} - [0:0]`),
      ...own.map(({ chain, text }) => `-A ${chain} ${text}`),
      "COMMIT",
    ].join("\n");
  }).join("\n") + "\n";
}

/** What makes the same by ourselves. */
export function sampleChanges(family: IpFamily): readonly XtChange[] {
  const samples = sampleChains(family);
  return [
    ...(["nat", "filter"] as const).flatMap((table): readonly XtChange[] => [
      { kind: "add-table", table },
      { kind: "add-chain", table, chain: sampleTarget },
    ]),
    ...samples.map(({ chain, table }): XtChange => ({ kind: "add-chain", table, chain })),
    ...samples.map(({ chain, rule, table }): XtChange => ({
      kind: "append-rule",
      table,
      chain,
      rule,
    })),
  ];
}
