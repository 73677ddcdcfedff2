/**
 * Plants faults in copies of the project, one at a time, and runs the unit tests that reach each.
 * A fault that no test notices is named with its place: there a test is missing.
 */
import { readSource, type SourceFile } from "../architecture/checker.ts";
import { projectSources } from "../architecture/project_sources.ts";
import { choose } from "./choose.ts";
import { isEquivalent } from "./equivalent.ts";
import { judge } from "./judge.ts";
import { mutantsOf } from "./mutate.ts";
import { Reach, type Ring } from "./reach.ts";
import { describe, type Result } from "./result.ts";
import { TreeCopy } from "./tree_copy.ts";
import { limitOf, readUnitTimes, type UnitTimes } from "./unit_times.ts";
import type { Wanted } from "./wanted.ts";

/** What is tried, and where. */
export interface MutantRun {
  /** The project; ends in a slash. */
  readonly root: string;
  readonly wanted: Wanted;
  /** Ends the run, which leaves nothing behind. */
  readonly signal: AbortSignal;
  /** What the start of a test may take on a busy machine. */
  readonly patienceSeconds?: number;
  /** Told while it runs. */
  tell(line: string): void;
}

/** Tries the wanted mutants. Tests that fail without any mutant are an error. */
export async function runMutants(
  { root, wanted, tell, signal, patienceSeconds = 10 }: MutantRun,
): Promise<Result> {
  const sources = await projectSources(root);
  const all = sources.filter(({ path }) => isWanted(path, wanted.rooms))
    .flatMap(({ path, text }) => mutantsOf(path, text));
  const chosen = choose(all, wanted);
  const tried = chosen.filter((mutant) => !isEquivalent(mutant));
  await using stack = new AsyncDisposableStack();
  const copies: TreeCopy[] = [];
  for (let job = 0; job < wanted.jobs; job++) copies.push(stack.use(await TreeCopy.of(root)));
  tell(
    `seed ${wanted.seed}: ${tried.length} of ${all.length} mutants; first the tests without any`,
  );
  const times = await timesOf(copies[0], signal);
  const texts = new Map(sources.map(({ path, text }) => [path, text]));
  let done = 0;
  const fates = await judge(tried, {
    copies,
    signal,
    limitSeconds: (tests) => patienceSeconds + limitOf(tests, times),
    textOf: (path) => texts.get(path) ?? "",
    ringsOf: ringsOf(sources, { times, tests: wanted.tests }),
    onFate: (mutant, fate) => {
      done++;
      if (done % 50 === 0) tell(`${done}/${tried.length}`);
      if (fate === "survived") tell(`${done}/${tried.length} survived: ${describe(mutant)}`);
    },
  });
  return {
    seed: wanted.seed,
    possible: all.length,
    equivalent: chosen.length - tried.length,
    killed: tried.filter((_, index) => fates[index] === "killed"),
    survived: tried.filter((_, index) => fates[index] === "survived"),
  };
}

function isWanted(path: string, rooms: readonly string[]): boolean {
  // A fake is good enough when the tests that need it pass.
  if (/\/fake(_\w+)?\.ts$/.test(path)) return false;
  return rooms.some((room) => room.endsWith("/") ? path.startsWith(room) : path === room);
}

const unit = /^tests\/(lib|cmd)\//;
const privileged = /^tests\/(kernel|controlplane)\//;

/** Unit tests ring by ring; far ones, and the tests that need root, one by one, only where wanted. */
function ringsOf(
  sources: readonly SourceFile[],
  { times, tests }: { readonly times: UnitTimes; readonly tests: Wanted["tests"] },
): (path: string) => Ring[] {
  const reach = new Reach(sources.map(readSource), (test) => times.get(test) ?? 1);
  return (path) => {
    const rings = reach.ringsOf(path);
    const units = rings.map((ring) => ring.filter((test) => unit.test(test)));
    if (tests === "near") return nearOf(path, units);
    if (tests === "unit") return units.filter((ring) => ring.length > 0);
    const more = rings.flat().filter((test) => privileged.test(test)).map((test) => [test]);
    return [...units, ...more].filter((ring) => ring.length > 0);
  };
}

/**
 * Far tests notice little that near ones do not, and whatever survives waits for all of them: of those
 * more than two imports away only the room's own are asked.
 */
function nearOf(path: string, [direct = [], next = [], far = []]: readonly Ring[]): Ring[] {
  const room = `tests/${path.split("/").slice(0, 2).join("/")}/`;
  return [direct, next, far.filter((test) => test.startsWith(room))]
    .filter((ring) => ring.length > 0);
}

async function timesOf(copy: TreeCopy, signal: AbortSignal): Promise<UnitTimes> {
  const report = `${copy.root}/unit.xml`;
  const verdict = await copy.test({
    tests: ["tests/lib", "tests/cmd"],
    limitSeconds: 600,
    signal,
    arguments: ["--parallel", `--junit-path=${report}`],
  });
  if (verdict.kind !== "passed") {
    const why = verdict.kind === "late"
      ? "they take more than ten minutes"
      : failuresIn(verdict.output);
    throw new Error(`Cannot judge mutants: the unit tests do not pass without any: ${why}`);
  }
  return readUnitTimes(await Deno.readTextFile(report));
}

/** What a run says of tests that failed, without the many that did not. */
function failuresIn(output: string): string {
  return output.split("\n ERRORS \n").at(-1)?.split("\nFAILED | ")[0].trim() ?? output;
}
