/** Runs the cases of behaviour on something that implements `Xtables`. */
import assert from "node:assert/strict";
import { XtablesError } from "../../../../lib/kernel/xtables/errors.ts";
import type { Xtables } from "../../../../lib/kernel/xtables/xtables.ts";
import { type BehaviourCase, behaviourCases } from "./behaviour_cases.ts";

/** Each case as a step, on rules of its own that `open` gives. */
export async function checkBehaviour(
  t: Deno.TestContext,
  open: () => Promise<Xtables & Partial<AsyncDisposable>>,
): Promise<void> {
  for (const each of behaviourCases) {
    await t.step(each.name, async () => {
      const xtables = await open();
      try {
        if (each.only === undefined || each.only === xtables.backend) {
          await checkCase(xtables, each);
        }
      } finally {
        await xtables[Symbol.asyncDispose]?.();
      }
    });
  }
}

/** The cases that need no number of a rule where the backend asks for one, put together change by change. */
export async function checkCompositions(
  t: Deno.TestContext,
  open: () => Promise<Xtables & Partial<AsyncDisposable>>,
): Promise<void> {
  for (const { changes, chains, given, name, only, refused } of behaviourCases) {
    if (changes.length === 0) continue;
    await t.step(name, async () => {
      const xtables = await open();
      try {
        if (only !== undefined && only !== xtables.backend) return;
        const composition = xtables.compose?.("IPv4");
        assert.ok(composition);
        if (!composition.takes(changes)) {
          assert.ok(
            xtables.backend === "nft" && changes.some(({ kind }) => kind === "delete-rule"),
          );
          return;
        }
        await xtables.commit("IPv4", given ?? []);
        for (const change of changes) composition.add([change]);
        assert.equal(composition.count, changes.length);
        if (refused) {
          await assert.rejects(composition.commit(), (error) => {
            assert.ok(error instanceof XtablesError, String(error));
            const [{ change }] = error.failures;
            const known = xtables.backend === "legacy" ? [-1, refused[0]] : [refused[0]];
            assert.ok(known.includes(change), error.message);
            return true;
          });
        } else {
          const { after } = await composition.commit();
          assert.equal(await xtables.stamp("IPv4"), after);
        }
        await checkChains(xtables, chains);
      } finally {
        await xtables[Symbol.asyncDispose]?.();
      }
    });
  }
}

/** One case on empty rules. */
export async function checkCase(
  xtables: Xtables,
  { chains, changes, given = [], refused }: BehaviourCase,
): Promise<void> {
  await xtables.commit("IPv4", given);
  const before = await xtables.stamp("IPv4");
  if (refused) {
    await assert.rejects(xtables.commit("IPv4", changes), (error) => {
      assert.ok(error instanceof XtablesError, String(error));
      const [{ change, refusal }] = error.failures;
      // The tools of the older engine seldom say why, and the kernel not even what.
      if (xtables.backend === "legacy") assert.ok([-1, refused[0]].includes(change), error.message);
      else assert.deepEqual([change, refusal], refused, error.message);
      return true;
    });
    assert.equal(await xtables.stamp("IPv4"), before);
  } else {
    await xtables.commit("IPv4", changes);
  }
  await checkChains(xtables, chains);
}

async function checkChains(xtables: Xtables, chains: BehaviourCase["chains"]): Promise<void> {
  const names = Object.keys(chains);
  const listed = await (await xtables.read("IPv4", ["nat"])).rules("nat", names);
  const held = names.map((name) => [name, listed.get(name)?.map(({ key }) => key)]);
  assert.deepEqual(Object.fromEntries(held), chains);
}
