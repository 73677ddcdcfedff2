/** A run of doctor for people: groups, a line a check, and below it what to know and to do. */
import type { CausedModules } from "../caused_modules.ts";
import { type CheckGroup, checkGroups } from "../check.ts";
import type { CheckResult, Result } from "../run_checks.ts";
import { describeVerdict } from "../verdict.ts";
import type { Outcome } from "./outcome.ts";
import { wrap } from "./wrap.ts";

/** How results stand out; the text as it is where nothing does. */
export type Paint = (text: string, result: Result | "heading") => string;

const width = 100;
const markWidth = 8;

const headings: Readonly<Record<CheckGroup, string>> = {
  kernel: "Kernel",
  ipvs: "IPVS state",
  nodeports: "NodePorts and firewall",
  software: "Other software",
  config: "Config",
  cluster: "Cluster",
  rehearsal: "Rehearsal",
};

/** At most 100 columns wide. */
export function outcomeText(outcome: Outcome, paint: Paint): string {
  const { modules, results, verdict } = outcome;
  const groups = checkGroups.flatMap((group) => {
    const own = results.filter(({ check }) => check.group === group);
    if (own.length === 0) return [];
    return ["", paint(headings[group], "heading"), ...own.flatMap((each) => lines(each, paint))];
  });
  const counts = (["pass", "warn", "fail", "skip", "unknown"] as const).map((result) =>
    `${results.filter((each) => each.result === result).length} ${result}`
  ).join(", ");
  const answer = wrap(describeVerdict(verdict, results), {
    width,
    indent: "",
    head: "can move: ",
  });
  return [
    ...wrap(title(outcome), { width, indent: "" }),
    ...groups,
    "",
    ...modulesText(modules),
    counts,
    ...answer,
  ].map((line) => `${line}\n`).join("");
}

function title({ fromWhere, kernel, move, node }: Outcome): string {
  const from = move.from === undefined
    ? "from a mode that nothing tells (give --from)"
    : `from ${move.from}${fromWhere === "" ? "" : ` (${fromWhere})`}`;
  const by = move.toProxy === "this" ? "of this program" : "of stock kube-proxy 1.37";
  return `Node ${node}, Linux ${kernel}: ${from} to ${move.to} ${by}`;
}

function lines(each: CheckResult, paint: Paint): readonly string[] {
  const { advice, check, evidence, result, subject } = each;
  const about = subject === "" ? check.title : `${check.title}: ${subject}`;
  const [first, ...more] = wrap(about, {
    width,
    indent: "  ",
    head: `${result.padEnd(markWidth)}${check.id.padEnd(7)}`,
  });
  const indent = " ".repeat(2 + markWidth + 7);
  const isRight = result === "pass";
  return [
    first.replace(result, paint(result, result)),
    ...more,
    ...evidence.flatMap((text) => wrap(text, { width, indent })),
    ...(isRight ? [] : wrap(check.why, { width, indent, head: "why: " })),
    ...advice.flatMap((text) => wrap(text, adviceWrap(text, indent))),
  ];
}

/** Sentences begin with a capital letter; anything else is a command or a line of a file. */
function adviceWrap(text: string, indent: string) {
  const isSentence = /^[A-Z][a-z]* /.test(text);
  return { width, indent, head: "do:  ", ...(isSentence ? {} : { more: " \\" }) };
}

/** What looking made the kernel load: nothing is said where that is nothing. */
export function modulesText({ kept, unloaded }: CausedModules): readonly string[] {
  const line = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : wrap(`${what}: ${names.join(", ")}`, { width, indent: "" });
  return [
    ...line("Modules that looking loaded, and that are unloaded again", unloaded),
    ...line("Modules that looking loaded, and that somebody uses now", kept),
  ];
}
