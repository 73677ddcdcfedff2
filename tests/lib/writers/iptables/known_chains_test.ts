import assert from "node:assert/strict";
import type { XtChange, XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import { FakeXtables } from "../../../../lib/kernel/xtables/fake.ts";
import { KnownChains } from "../../../../lib/writers/iptables/known_chains.ts";

const place = (chain: string) => ({ table: "nat", chain }) as const;
const comment = (text: string): XtRule => ({ matches: [{ kind: "comment", text }] });
const chains = ["A", "B", "C"];
const wanted = new Map(chains.map((chain) => [chain, [comment(chain)]]));

/** Which chains a comparison of everything reads, and which it finds wrong. */
class Comparison {
  readonly xtables = new FakeXtables();
  readonly known = new KnownChains();

  async look(what: ReadonlyMap<string, readonly XtRule[]> = wanted) {
    const reading = await this.xtables.read("IPv4", ["nat"]);
    const read: string[] = [];
    const over = this.known.over({
      ...reading,
      differing: (table, asked) => {
        read.push(...asked.keys());
        return reading.differing(table, asked);
      },
    });
    return { read, wrong: await over.differing("nat", what) };
  }

  change(...changes: readonly XtChange[]): void {
    this.xtables.edit("IPv4", changes);
  }
}

function comparison(): Comparison {
  const made = new Comparison();
  made.change({ kind: "add-table", table: "nat" });
  for (const chain of chains) {
    made.change({ kind: "add-chain", ...place(chain) });
    made.change({ kind: "append-rule", ...place(chain), rule: comment(chain) });
  }
  return made;
}

Deno.test("a chain that was right is read again only when its rules are others", async () => {
  const made = comparison();
  assert.deepEqual(await made.look(), { read: chains, wrong: [] });
  assert.deepEqual(await made.look(), { read: [], wrong: [] });
  made.change(
    { kind: "delete-rule", ...place("B"), rule: comment("B") },
    { kind: "append-rule", ...place("B"), rule: comment("other") },
  );
  assert.deepEqual(await made.look(), { read: ["B"], wrong: ["B"] });
  assert.deepEqual(await made.look(), { read: ["B"], wrong: ["B"] }, "what is wrong stays unknown");
  made.change(
    { kind: "delete-rule", ...place("B"), rule: comment("other") },
    { kind: "append-rule", ...place("B"), rule: comment("B") },
  );
  assert.deepEqual((await made.look()).wrong, []);
  assert.deepEqual((await made.look()).read, []);
});

Deno.test("chains that a comparison leaves out, and all when told so, are unknown again", async () => {
  const made = comparison();
  await made.look();
  await made.look(new Map([...wanted].slice(0, 2)));
  assert.deepEqual((await made.look()).read, ["C"]);
  made.known.forget();
  assert.deepEqual((await made.look()).read, chains);
});

Deno.test("a backend without digests is read each time", async () => {
  const legacy = new FakeXtables({ backend: "legacy" });
  const reading = await legacy.read("IPv4", ["nat"]);
  assert.equal(new KnownChains().over(reading), reading);
});
