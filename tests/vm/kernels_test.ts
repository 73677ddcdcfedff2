/**
 * The guest tests on each kernel: one boot a kernel and one for the proofs, two guests at a time.
 * `KUBE_PROXY_TEST_KERNEL` chooses one kernel, `KUBE_PROXY_TEST_NAME` the tests whose path holds the word.
 */
import { ControlPlane } from "../controlplane/rig/control_plane.ts";
import { Drive } from "./drive.ts";
import { type GuestOptions, type KernelName, kernels, provideTools, runGuest } from "./guest.ts";
import { toldBy } from "./outside.ts";
import { complaintOf, type Verdict } from "./verdict.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;

/** Paths, in the order in which a guest runs them. */
const everywhere: readonly string[] = [
  "tests/vm/room/ipvs.ts",
  "tests/vm/room/ipset.ts",
  "tests/vm/room/links.ts",
  "tests/vm/fates/every_mode.ts",
];

/** Two minutes of a guest. */
const doctor: readonly string[] = [
  "tests/kernel/doctor/rehearsal_test.ts",
  "tests/kernel/doctor/nothing_changes_test.ts",
  "tests/vm/room/doctor_modules.ts",
];

/** What is worth its time on one kernel only: the oldest has the fewest features. */
const onlyOn: Partial<Record<KernelName, readonly string[]>> = {
  "5.10": [
    "tests/kernel/session_affinity_test.ts",
    ...isFull ? ["tests/kernel/affinity_scale_test.ts"] : [],
  ],
  // Rules that ask for IPVS, which the kernel of this machine may lack.
  "6.1": [
    ...doctor,
    "tests/kernel/xtables/nft_test.ts",
    "tests/kernel/xtables/legacy_test.ts",
    "tests/vm/fates/ipvs_legacy.ts",
  ],
};

const word = Deno.env.get("KUBE_PROXY_TEST_NAME") ?? "";
const chosen = Deno.env.get("KUBE_PROXY_TEST_KERNEL");
/** Who asks for a test by its name gets it on every kernel. */
const onAll = isFull || word !== "" || chosen !== undefined
  ? [...everywhere, ...doctor]
  : everywhere;

/** Stories beside a real apiserver, in the order in which a guest runs them. */
const allProofs: readonly string[] = [
  "tests/vm/proofs/takeover.ts",
  "tests/vm/proofs/way_out.ts",
  "tests/vm/proofs/leftovers.ts",
  "tests/vm/proofs/faults.ts",
  "tests/vm/proofs/recorded.ts",
  "tests/vm/proofs/upstream_fates.ts",
  "tests/vm/proofs/doctor_clean.ts",
  "tests/vm/proofs/doctor_sick.ts",
];
/** Those that run where one kernel is asked for, and no test by its name. */
const shortProofs: readonly string[] = [
  "tests/vm/proofs/faults.ts",
  "tests/vm/proofs/doctor_clean.ts",
];
const proofs = isFull || word !== "" ? allProofs : shortProofs;
const kernelOfProofs: KernelName = "6.1";

/** Several times what a guest needs that has one of two cores for itself. */
const LIMIT_SECONDS = isFull ? 3600 : 1200;
const AT_A_TIME = 2;

/** One boot. */
interface Guest {
  readonly kernel: KernelName;
  readonly tests: readonly string[];
}

Deno.test("the guest tests pass on each kernel", async (test) => {
  const guests = chosenGuests();
  const tools = await provideTools();
  await using drive = await Drive.create();
  const options = { tools, drive, limitSeconds: LIMIT_SECONDS };
  const ends = await inTurns(guests, async (guest) => {
    const verdicts = await run({ ...options, ...guest });
    for (const [path, verdict] of verdicts) tell(`Linux ${guest.kernel}: ${path}`, verdict);
    return verdicts;
  });
  for (const [i, { kernel, tests }] of guests.entries()) {
    for (const path of tests) {
      await test.step(`Linux ${kernel}: ${path}`, () => {
        const end = ends[i];
        if (end.status === "rejected") throw end.reason;
        const verdict = end.value.get(path);
        const complaint = verdict === undefined ? "did not run" : complaintOf(verdict);
        if (complaint !== undefined) throw new Error(`${path} on Linux ${kernel} ${complaint}`);
      });
    }
  }
});

/** Boots it, with a control plane outside if one of its tests asks for that. */
async function run(options: GuestOptions): Promise<ReadonlyMap<string, Verdict>> {
  if (!options.tests.some((path) => proofs.includes(path))) return await runGuest(options);
  await using plane = await ControlPlane.start();
  return await runGuest({ ...options, plane: plane.access });
}

/**
 * How long it took, and what it measured, for whoever reads the run: as soon as its guest ended, while
 * the test runner keeps everything for the end.
 */
function tell(name: string, verdict: Verdict): void {
  const file = Deno.env.get("KUBE_PROXY_TEST_MEASURED");
  if (file === undefined) return;
  const lines = verdict.kind === "passed"
    ? [`${verdict.seconds} s`].concat(
      toldBy<unknown>(verdict.output, "measured").map((value) => JSON.stringify(value)),
    )
    : [verdict.kind];
  const text = lines.map((line) => `${name}: ${line}\n`).join("");
  Deno.writeTextFileSync(file, text, { append: true });
}

/** Who asks for one kernel gets the short proofs there; all four take long enough without. The longest come first. */
function chosenGuests(): readonly Guest[] {
  const wanted = kernels.filter((kernel) => chosen === undefined || chosen === kernel);
  const guests: readonly Guest[] = [
    ...wanted.filter((kernel) =>
      isFull || kernel === chosen ||
      word !== "" && chosen === undefined && kernel === kernelOfProofs
    )
      .map((kernel) => ({ kernel, tests: proofs })),
    ...wanted.map((kernel) => ({
      kernel,
      tests: [...new Set([...onAll, ...onlyOn[kernel] ?? []])],
    })),
  ];
  const chosenGuests = guests
    .map(({ kernel, tests }) => ({ kernel, tests: tests.filter((path) => path.includes(word)) }))
    .filter(({ tests }) => tests.length > 0);
  if (chosenGuests.length > 0) return chosenGuests;
  throw new RangeError(
    `Cannot test: no guest test is called "${word}" on ${chosen ?? "any kernel"}`,
  );
}

/** Runs all of them, so many at a time; how each ended, in their order. */
async function inTurns<T, R>(
  items: readonly T[],
  run: (item: T) => Promise<R>,
): Promise<readonly PromiseSettledResult<R>[]> {
  const ends: PromiseSettledResult<R>[] = [];
  const waiting = [...items.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [i, item] = next;
      [ends[i]] = await Promise.allSettled([run(item)]);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return ends;
}
