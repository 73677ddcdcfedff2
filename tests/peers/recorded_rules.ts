/**
 * What upstream's proxy makes of the shop's cluster in iptables and in ipvs mode: recorded by
 * `record_rules.ts` and `record_ipvs.ts`, compared with ours wherever the same cluster is served. A file
 * for each mode and family, each line with the numbers of the set-ups that have it:
 *
 *   # 1 local traffic by cluster CIDR, node ports on primary
 *   123456 -A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
 */
import type { IpFamily } from "../../lib/base/ip_family.ts";
import { controlPlaneVersion } from "../controlplane/rig/binaries.ts";
import type { Setup } from "../scenarios/setups.ts";
import { canonicalIpvs } from "./canonical_ipvs.ts";

/** What the modes' own tools list, without comments and counts, in the order of `canonicalRules`. */
type SavedLines = readonly string[];

/** The modes that are recorded. */
type RecordedMode = "iptables" | "ipvs";

/** A line, and the numbers of those that have it. */
interface SharedLine {
  readonly line: string;
  readonly numbers: string;
}

/** Rules that differ from upstream's; more than five kinds would be another set of rules. */
export const knownDifferences: readonly RuleDifference[] = [];

/** Lines that only one of the programs writes. */
interface RuleDifference {
  /** The first cell of its row in `docs/differences.md`. */
  readonly row: string;
  readonly line: RegExp;
}

/** Chains in which each service port has a block of its own, at a place that means nothing. */
const sharedChains: ReadonlySet<string> = new Set([
  "KUBE-SERVICES",
  "KUBE-NODEPORTS",
  "KUBE-EXTERNAL-SERVICES",
  "KUBE-PROXY-FIREWALL",
]);

/** The kubelet's, by which proxies find their engine. */
const hint = ":KUBE-IPTABLES-HINT -";

/** A save in an order that only means what the kernel reads from it. */
export function canonicalRules(save: string, mode: RecordedMode = "iptables"): SavedLines {
  return mode === "ipvs" ? canonicalIpvs(save) : canonicalIptables(save);
}

/** The blocks of shared chains are sorted by service port; all other order stays. */
function canonicalIptables(save: string): SavedLines {
  const runs: { readonly chain: string; readonly lines: string[] }[] = [];
  for (const line of save.split("\n").filter((each) => each !== "" && each !== hint)) {
    const chain = /^-A (\S+)/.exec(line)?.[1] ?? "";
    const last = runs.at(-1);
    if (last !== undefined && last.chain === chain) last.lines.push(line);
    else runs.push({ chain, lines: [line] });
  }
  return runs.flatMap(({ chain, lines }) =>
    sharedChains.has(chain) ? lines.toSorted(byServicePort) : lines
  );
}

/** The dispatch to node ports, whose comment names no Service, stays behind all of them. */
function byServicePort(a: string, b: string): number {
  const [left, right] = [a, b].map((line) => {
    const name = /--comment "?([^\s"]+)/.exec(line)?.[1] ?? "";
    return name.includes("/") ? name : `~${line}`;
  });
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The lines that only one of the saves has, or that stand elsewhere; empty when all is well. */
export function differencesFromRecord(
  save: string,
  recorded: SavedLines,
  mode: RecordedMode = "iptables",
): readonly string[] {
  return mergeLines(recorded.map((line) => ({ line, numbers: "-" })), {
    lines: canonicalRules(save, mode),
    number: "+",
  })
    .filter(({ line, numbers }) =>
      numbers !== "-+" && !knownDifferences.some((known) => known.line.test(line))
    )
    .map(({ line, numbers }) => `${numbers} ${line}`);
}

/** One list of which both are parts, in the order of each: the longest part they share is there once. */
function mergeLines(
  shared: readonly SharedLine[],
  { lines, number }: { readonly lines: SavedLines; readonly number: string },
): readonly SharedLine[] {
  // longest[i][j]: of what is shared from i on with the lines from j on.
  const longest = Array.from(
    { length: shared.length + 1 },
    () => new Uint32Array(lines.length + 1),
  );
  for (let i = shared.length - 1; i >= 0; i--) {
    for (let j = lines.length - 1; j >= 0; j--) {
      longest[i][j] = shared[i].line === lines[j]
        ? longest[i + 1][j + 1] + 1
        : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const merged: SharedLine[] = [];
  for (let i = 0, j = 0; i < shared.length || j < lines.length;) {
    if (i < shared.length && j < lines.length && shared[i].line === lines[j]) {
      merged.push({ line: lines[j++], numbers: shared[i++].numbers + number });
    } else if (
      j === lines.length || (i < shared.length && longest[i + 1][j] >= longest[i][j + 1])
    ) {
      merged.push(shared[i++]);
    } else {
      merged.push({ line: lines[j++], numbers: number });
    }
  }
  return merged;
}

function pathOf(mode: RecordedMode, family: IpFamily): URL {
  const name = `kubernetes-${controlPlaneVersion.slice(1)}.${family.toLowerCase()}.txt`;
  return new URL(`./recorded/${mode === "ipvs" ? mode : "rules"}/${name}`, import.meta.url);
}

/** The lines that upstream's proxy writes in a set-up. */
export async function readRecordedRules(setup: Setup, family: IpFamily): Promise<SavedLines> {
  const mode = setup.mode.kind === "ipvs" ? setup.mode.kind : "iptables";
  const all = (await Deno.readTextFile(pathOf(mode, family))).trimEnd().split("\n");
  const number = all.map((line) => /^# (\d) (.*)$/.exec(line))
    .find((found) => found?.[2] === setup.name)?.[1];
  if (number === undefined) throw new RangeError(`Cannot find the set-up "${setup.name}"`);
  return all.filter((line) => /^\d+ /.test(line)).map((line) => line.split(/ (.*)/, 2))
    .filter(([numbers]) => numbers.includes(number)).map(([, line]) => line);
}

/** Writes a family's file. */
export async function writeRecordedRules(
  family: IpFamily,
  { title, mode = "iptables", saves }: {
    readonly title: string;
    readonly mode?: RecordedMode;
    /** By the name of the set-up; at most nine. */
    readonly saves: ReadonlyMap<string, SavedLines>;
  },
): Promise<void> {
  let shared: readonly SharedLine[] = [];
  const names = [...saves.keys()];
  for (const [index, lines] of [...saves.values()].entries()) {
    shared = mergeLines(shared, { lines, number: String(index + 1) });
  }
  const text = [
    `# ${title}`,
    ...names.map((name, index) => `# ${index + 1} ${name}`),
    ...shared.map(({ line, numbers }) => `${numbers} ${line}`),
  ];
  const path = pathOf(mode, family);
  await Deno.mkdir(new URL(".", path), { recursive: true });
  await Deno.writeTextFile(path, `${text.join("\n")}\n`);
}
