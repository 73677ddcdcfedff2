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
import { Reach, type Ring, testOf } from "./reach.ts";
import { describe, type Result } from "./result.ts";
import { TreeCopy } from "./tree_copy.ts";
import { limitOf, readUnitTimes, type UnitTimes } from "./unit_times.ts";
import { isIn, type Wanted } from "./wanted.ts";

/** What is tried, and where. */
export interface MutantRun {
  /** The project; ends in a slash. */
  readonly root: string;
  readonly wanted: Wanted;
  /** Ends the run, which leaves nothing behind. */
  readonly signal: AbortSignal;
  /** What the start of a test may take on a busy machine. */
  readonly patienceSeconds?: number;
  /** Where the project is copied to; where the system has such things when absent. */
  readonly folder?: string;
  /** Told while it runs. */
  tell(line: string): void;
}

/** Tries the wanted mutants. Tests that fail without any mutant are an error. */
export async function runMutants(
  { root, wanted, folder, tell, signal, patienceSeconds = 10 }: MutantRun,
): Promise<Result> {
  const sources = await projectSources(root);
  const all = sources.filter(({ path }) => isProduct(path))
    .flatMap(({ path, text }) => mutantsOf(path, text))
    .filter((mutant) => wanted.rooms.some((room) => isIn(room, mutant)));
  const chosen = choose(all, wanted);
  const tried = chosen.filter((mutant) => !isEquivalent(mutant));
  await using stack = new AsyncDisposableStack();
  const copies: TreeCopy[] = [];
  for (let job = 0; job < wanted.jobs; job++) {
    copies.push(stack.use(await TreeCopy.of(root, folder)));
  }
  tell(
    `seed ${wanted.seed}: ${tried.length} of ${all.length} mutants; first the tests without any`,
  );
  const tests = sources.map(({ path }) => path).filter(isUnitTest);
  const times = await timesOf(copies[0], { tests, signal });
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

// A fake is good enough when the tests that need it pass.
const isProduct = (path: string) => /^(lib|cmd)\//.test(path) && !/\/fake(_\w+)?\.ts$/.test(path);
const isUnitTest = (path: string) => /^tests\/(lib|cmd)\/.*_test\.ts$/.test(path);
const privileged = /^tests\/(kernel|controlplane)\//;

/** Unit tests ring by ring; far ones, and the tests that need root, one by one, only where wanted. */
function ringsOf(
  sources: readonly SourceFile[],
  { times, tests }: { readonly times: UnitTimes; readonly tests: Wanted["tests"] },
): (path: string) => Ring[] {
  const reach = new Reach(sources.map(readSource), (test) => times.get(test) ?? 1);
  return (path) => {
    const rings = reach.ringsOf(path);
    const units = rings.map((ring) => ring.filter(isUnitTest));
    const far = tests === "near" ? nearOf(path, units) : units;
    const more = tests === "all" ? rings.flat().filter((test) => privileged.test(test)) : [];
    return [...ownFirst(path, far), ...more.map((test) => [test])]
      .filter((ring) => ring.length > 0);
  };
}

/**
 * Far tests notice little that near ones do not, and whatever survives waits for all of them: of those
 * more than two imports away only the room's own are asked.
 */
function nearOf(path: string, [direct = [], next = [], far = []]: readonly Ring[]): Ring[] {
  const room = `tests/${path.split("/").slice(0, 2).join("/")}/`;
  return [direct, next, far.filter((test) => test.startsWith(room))];
}

/** Most faults are noticed by the file's own test, which is started sooner than many. */
function ownFirst(path: string, [direct = [], ...others]: readonly Ring[]): Ring[] {
  const own = direct.slice(0, direct[0] === testOf(path) ? 1 : 0);
  return [own, direct.slice(own.length), ...others];
}

async function timesOf(
  copy: TreeCopy,
  { tests, signal }: { readonly tests: readonly string[]; readonly signal: AbortSignal },
): Promise<UnitTimes> {
  const report = `${copy.root}/unit.xml`;
  const verdict = await copy.test({
    tests,
    limitSeconds: 600,
    signal,
    arguments: [`--junit-path=${report}`],
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
