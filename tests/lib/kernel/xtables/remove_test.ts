import assert from "node:assert/strict";
import { FakeXtables } from "../../../../lib/kernel/xtables/fake.ts";
import {
  ownedChains,
  planXtRemoval,
  removeOwned,
  type XtOwned,
} from "../../../../lib/kernel/xtables/remove.ts";
import type { XtChange, XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import type { XtChain } from "../../../../lib/kernel/xtables/xtables.ts";

const { signal } = new AbortController();
const family = "IPv4";
const table = "nat";

/** An owner with all there can be. */
const owned: XtOwned = {
  table,
  chains: ["OWN", "OTHER-OWN"],
  pattern: /^OWN-[A-Z]{4}$/,
  companions: ["MARK"],
  plain: ["OWN"],
  jumpComments: ["our jump"],
};

function jump(chain: string, comment?: string): XtRule {
  const matches = comment === undefined ? [] : [{ kind: "comment" as const, text: comment }];
  return { matches, target: { kind: "jump", chain } };
}

const chain = (name: string): XtChange => ({ kind: "add-chain", table, chain: name });
const rule = (into: string, what: XtRule): XtChange => ({
  kind: "append-rule",
  table,
  chain: into,
  rule: what,
});

/** A node with our chains, and somebody else's. */
function node(...more: readonly XtChange[]): FakeXtables {
  const xtables = new FakeXtables();
  xtables.edit(family, [
    { kind: "add-table", table },
    ...["OWN", "OWN-ABCD", "OWN-EFGH", "MARK", "THEIRS", "OWN-mine", "OWN-ABCDE"].map(chain),
    rule("PREROUTING", jump("THEIRS")),
    rule("PREROUTING", jump("OWN", "our jump")),
    rule("OUTPUT", jump("OWN", "our jump")),
    rule("OWN", jump("OWN-ABCD", "a service")),
    rule("OWN-ABCD", jump("MARK")),
    rule("OWN-ABCD", jump("OWN-EFGH")),
    ...more,
  ]);
  return xtables;
}

async function chainsOf(xtables: FakeXtables): Promise<readonly string[]> {
  const { chains } = await xtables.read(family, [table]);
  return chains.filter(({ isBuiltIn }) => !isBuiltIn).map(({ name }) => name).sort();
}

async function rulesOf(xtables: FakeXtables, name: string): Promise<readonly string[]> {
  const rules = await (await xtables.read(family, [table])).rules(table, [name]);
  return (rules.get(name) ?? []).map(({ key }) => key);
}

Deno.test("ownedChains() takes exact names and whole patterns, and companions beside others alone", () => {
  const names = ["OWN-ABCD", "OWN-ABCDE", "XOWN-ABCD", "OWN-mine", "OWN", "MARK", "THEIRS"];
  assert.deepEqual(ownedChains(names, owned), ["MARK", "OWN", "OWN-ABCD"]);
  assert.deepEqual(ownedChains(["MARK", "THEIRS"], owned), []);
});

Deno.test("removeOwned() removes our chains and jumps in one commit, and nothing else", async () => {
  const xtables = node();
  const { changes, held, steps } = await planXtRemoval(xtables, { family, owned: [owned] });
  assert.deepEqual(held, []);
  assert.deepEqual(
    steps.map(({ action, chain, kind, name }) =>
      `${action} ${kind} ${name}${chain ? ` of ${chain}` : ""}`
    ),
    [
      'delete jump -m comment --comment "our jump" -j OWN of PREROUTING',
      'delete jump -m comment --comment "our jump" -j OWN of OUTPUT',
      "delete chain MARK",
      "delete chain OWN",
      "delete chain OWN-ABCD",
      "delete chain OWN-EFGH",
    ],
  );
  assert.equal(xtables.commits.length, 0, "planning changes nothing");
  const report = await removeOwned(xtables, { family, owned: [owned] }, signal);
  assert.deepEqual(report, { steps, left: [] });
  assert.deepEqual(xtables.commits.map((commit) => commit.changes), [changes]);
  assert.deepEqual(await chainsOf(xtables), ["OWN-ABCDE", "OWN-mine", "THEIRS"]);
  assert.deepEqual(await rulesOf(xtables, "PREROUTING"), ["-j THEIRS"]);
  const again = await removeOwned(xtables, { family, owned: [owned] }, signal);
  assert.deepEqual([again, xtables.commits.length], [{ steps: [], left: [] }, 1]);
});

Deno.test("removeOwned() empties and keeps a chain that somebody else's rule leads to", async () => {
  const xtables = node(
    rule("THEIRS", jump("OWN-ABCD", "our jump")),
    rule("PREROUTING", jump("OWN")),
  );
  const { held } = await planXtRemoval(xtables, { family, owned: [owned] });
  assert.deepEqual(held, [
    { table, chain: "OWN", by: { chain: "PREROUTING", rule: "-j OWN" } },
    {
      table,
      chain: "OWN-ABCD",
      by: { chain: "THEIRS", rule: '-m comment --comment "our jump" -j OWN-ABCD' },
    },
  ]);
  const report = await removeOwned(xtables, { family, owned: [owned] }, signal);
  assert.deepEqual(report.left, []);
  assert.deepEqual(
    report.steps.filter(({ action }) => action === "empty").map(({ name }) => name),
    ["OWN", "OWN-ABCD"],
  );
  assert.deepEqual(await chainsOf(xtables), ["OWN", "OWN-ABCD", "OWN-ABCDE", "OWN-mine", "THEIRS"]);
  assert.deepEqual([await rulesOf(xtables, "OWN"), await rulesOf(xtables, "OWN-ABCD")], [[], []]);
  assert.deepEqual(await rulesOf(xtables, "PREROUTING"), ["-j THEIRS", "-j OWN"]);
  assert.deepEqual(await removeOwned(xtables, { family, owned: [owned] }, signal), {
    steps: [],
    left: [],
  });
});

Deno.test("planXtRemoval() names others' rules inside our chains", async () => {
  const xtables = node(
    rule("OWN", jump("THEIRS", "theirs")),
    rule("OWN", { matches: [], target: { kind: "accept" } }),
  );
  const { steps } = await planXtRemoval(xtables, { family, owned: [owned] });
  assert.deepEqual(
    steps.filter(({ kind }) => kind === "rule").map(({ chain, name }) => [chain, name]),
    [
      ["OWN", "-m comment --comment theirs -j THEIRS"],
      ["OWN", "-j ACCEPT"],
    ],
  );
});

Deno.test("removeOwned() reads again where somebody else was faster, three times", async () => {
  for (const [refusals, isDone] of [[1, true], [2, true], [3, false]] as const) {
    const xtables = node();
    let left: number = refusals;
    xtables.refuse(({ kind }) =>
      kind === "delete-rule" && left-- > 0
        ? { refusal: "busy", message: "Device or resource busy" }
        : undefined
    );
    // One refusal a commit: the second jump passes.
    left = refusals * 2;
    const report = await removeOwned(xtables, { family, owned: [owned] }, signal);
    assert.equal(report.left.length === 0, isDone, `${refusals} refusals`);
    assert.equal((await chainsOf(xtables)).includes("OWN"), !isDone);
    if (!isDone) assert.match(String(report.error), /Device or resource busy/);
  }
});

Deno.test("removeOwned() does not try again what stays refused", async () => {
  const xtables = node();
  let asked = 0;
  xtables.refuse(({ kind }) => {
    if (kind !== "delete-rule") return undefined;
    asked++;
    return { refusal: "not-permitted", message: "Operation not permitted" };
  });
  const report = await removeOwned(xtables, { family, owned: [owned] }, signal);
  assert.deepEqual([asked, report.steps, report.left.length], [2, [], 6]);
  await assert.rejects(removeOwned(xtables, { family, owned: [owned] }, AbortSignal.abort()), {
    name: "AbortError",
  });
});

Deno.test("removeOwned() does a plan that is there without reading first, and reads where it is outdated", async () => {
  const xtables = node();
  const planned = await planXtRemoval(xtables, { family, owned: [owned] });
  let readings = 0;
  const read = xtables.read.bind(xtables);
  xtables.read = async (...given) => {
    readings++;
    return await read(...given);
  };
  const report = await removeOwned(xtables, { family, owned: [owned], planned }, signal);
  assert.deepEqual(report, { steps: planned.steps, left: [] });
  assert.equal(readings, 1, "behind the commit alone");

  const changed = node();
  changed.edit(family, [chain("OTHER-OWN"), rule("THEIRS", jump("OWN-EFGH"))]);
  const later = await removeOwned(changed, { family, owned: [owned], planned }, signal);
  assert.deepEqual(await chainsOf(changed), ["OWN-ABCDE", "OWN-EFGH", "OWN-mine", "THEIRS"]);
  assert.deepEqual(later.left, []);
  assert.ok(later.steps.some(({ name }) => name === "OTHER-OWN"));
});

Deno.test("removeOwned() finds what came after its plan was made", async () => {
  const xtables = node();
  const planned = await planXtRemoval(xtables, { family, owned: [owned] });
  xtables.edit(family, [chain("OTHER-OWN")]);
  const report = await removeOwned(xtables, { family, owned: [owned], planned }, signal);
  assert.deepEqual(report.left, []);
  assert.deepEqual(report.steps.slice(planned.steps.length).map(({ name }) => name), ["OTHER-OWN"]);
});

/** So many names of our chains. */
function ownNames(count: number): readonly string[] {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return Array.from({ length: count }, (_, n) => {
    const at = (power: number) => letters[Math.floor(n / 26 ** power) % 26];
    return `OWN-${at(3)}${at(2)}${at(1)}${at(0)}`;
  });
}

/** Six thousand chains of ours, each with a rule, more than go in one commit. */
function largeNode(backend: "legacy" | "nft"): FakeXtables {
  const xtables = new FakeXtables({ backend });
  const names = ownNames(6_000);
  xtables.edit(family, [
    { kind: "add-table", table },
    ...["OWN", "MARK", "THEIRS", ...names].map(chain),
    rule("PREROUTING", jump("OWN", "our jump")),
    ...names.map((name) => rule("OWN", jump(name, "a service"))),
    ...names.map((name) => rule(name, jump("MARK"))),
    rule("THEIRS", jump("OWN-AAAA")),
  ]);
  return xtables;
}

Deno.test("removeOwned() removes many chains in several commits: others get their turn, and no packet sees a part", async () => {
  const xtables = largeNode("nft");
  const report = await removeOwned(xtables, { family, owned: [owned] }, signal);
  assert.deepEqual([report.left, report.steps.length], [[], 6_003]);
  const sizes = xtables.commits.map(({ changes }) => changes.length);
  assert.deepEqual(sizes, [4_000, 4_000, 4_000, 4]);
  const [first, , , last] = xtables.commits.map(({ changes }) => changes);
  // The jump to ours, and the content of the one chain that somebody else's rule leads to.
  assert.deepEqual(first.slice(0, 2), [
    { kind: "delete-rule", table, chain: "PREROUTING", rule: jump("OWN", "our jump") },
    { kind: "flush-chain", table, chain: "OWN-AAAA" },
  ]);
  // Whoever looks for what is left looks for these.
  assert.deepEqual(last.slice(-2), [
    { kind: "delete-chain", table, chain: "MARK" },
    { kind: "delete-chain", table, chain: "OWN" },
  ]);
  assert.deepEqual(await chainsOf(xtables), ["OWN-AAAA", "THEIRS"]);

  const legacy = largeNode("legacy");
  assert.deepEqual((await removeOwned(legacy, { family, owned: [owned] }, signal)).left, []);
  assert.equal(legacy.commits.length, 1, "the older tables are written as a whole");
});

Deno.test("removeOwned() that stops between two commits says which chains went, each once", async () => {
  for (
    const [why, refusals] of [["stopped", 0], ["refused for good", 3], ["refused once", 1]] as const
  ) {
    const xtables = largeNode("nft");
    const stop = new AbortController();
    const { steps: all } = await planXtRemoval(xtables, { family, owned: [owned] });
    let left: number = refusals;
    xtables.refuse((change) => {
      if (change.kind !== "delete-chain" || change.chain !== "MARK") return undefined;
      return left-- > 0 ? { refusal: "busy", message: "Device or resource busy" } : undefined;
    });
    const commit = xtables.commit.bind(xtables);
    xtables.commit = async (...given) => {
      stop.signal.throwIfAborted();
      const receipt = await commit(...given);
      if (why === "stopped") stop.abort();
      return receipt;
    };
    const report = await removeOwned(xtables, { family, owned: [owned] }, stop.signal);
    const steps = (list: typeof all) => list.map((step) => JSON.stringify(step)).sort();
    const isDone = why === "refused once";
    assert.equal(report.left.length === 0, isDone, why);
    assert.deepEqual(report.error === undefined, isDone, why);
    assert.equal(new Set(steps(report.steps)).size, report.steps.length, why);
    assert.deepEqual(steps([...report.steps, ...report.left]), steps(all), why);
    const there = await chainsOf(xtables);
    for (const { action, kind, name } of report.steps) {
      if (kind === "chain" && action === "delete") assert.equal(there.includes(name), false, name);
    }
  }
});

Deno.test("removeOwned() reads whether a commit was made on which it was stopped", async () => {
  for (const isMade of [true, false]) {
    const xtables = node();
    const stop = new AbortController();
    const { steps } = await planXtRemoval(xtables, { family, owned: [owned] });
    const commit = xtables.commit.bind(xtables);
    xtables.commit = async (...given) => {
      if (isMade) await commit(...given);
      stop.abort();
      throw stop.signal.reason;
    };
    const report = await removeOwned(xtables, { family, owned: [owned] }, stop.signal);
    assert.deepEqual(report.steps, isMade ? steps : []);
    assert.deepEqual(report.left, isMade ? [] : steps);
  }
});

Deno.test("removeOwned() takes more chains than a call can have arguments", async () => {
  const names = ownNames(130_000);
  const xtables = new FakeXtables();
  let there: readonly XtChain[] = names.map((name) => ({
    table,
    name,
    isBuiltIn: false,
    fingerprint: 0,
  }));
  xtables.read = () =>
    Promise.resolve({
      chains: there,
      rules: () => Promise.resolve(new Map()),
      differing: () => Promise.resolve([]),
    });
  xtables.commit = () => {
    there = [];
    return Promise.resolve(undefined);
  };
  const { left, steps } = await removeOwned(xtables, { family, owned: [owned] }, signal);
  assert.deepEqual([left.length, steps.length], [0, names.length]);
});
