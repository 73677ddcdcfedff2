/**
 * The guest tests on each kernel: one boot a kernel, two guests at a time. `KUBE_PROXY_TEST_KERNEL`
 * chooses one kernel, `KUBE_PROXY_TEST_NAME` the tests whose path holds the word.
 */
import { Drive } from "./drive.ts";
import { type KernelName, kernels, provideTools, runGuest } from "./guest.ts";
import { complaintOf } from "./verdict.ts";

/** Paths, in the order in which a guest runs them. */
const everywhere: readonly string[] = [
  "tests/vm/fates/nftables.ts",
  "tests/vm/fates/iptables_nft.ts",
  "tests/vm/fates/iptables_legacy.ts",
];

/** What is worth its time on one kernel only: the oldest has the fewest features. */
const onlyOn: Partial<Record<KernelName, readonly string[]>> = {
  "5.10": ["tests/kernel/session_affinity_test.ts", "tests/kernel/affinity_scale_test.ts"],
};

/** Several times what a guest needs that has one of two cores for itself. */
const LIMIT_SECONDS = 600;
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
  const ends = await inTurns(
    guests,
    (guest) => runGuest({ tools, drive, ...guest, limitSeconds: LIMIT_SECONDS }),
  );
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

function chosenGuests(): readonly Guest[] {
  const chosen = Deno.env.get("KUBE_PROXY_TEST_KERNEL");
  const word = Deno.env.get("KUBE_PROXY_TEST_NAME") ?? "";
  const guests = kernels.filter((kernel) => chosen === undefined || chosen === kernel)
    .map((kernel) => ({
      kernel,
      tests: [...everywhere, ...onlyOn[kernel] ?? []].filter((path) => path.includes(word)),
    }))
    .filter(({ tests }) => tests.length > 0);
  if (guests.length > 0) return guests;
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
