/** The nft backend beside iptables-nft itself: each writes, each reads the other's. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import type { XtChange } from "../../../lib/kernel/xtables/rules.ts";
import { checkBehaviour } from "../../lib/kernel/xtables/behaviour.ts";
import { expressionsOf } from "./expressions.ts";
import { XtNamespace } from "./namespace.ts";
import { sampleChains, sampleChanges, sampleText } from "../../lib/kernel/xtables/sample_chains.ts";

Deno.test("the nft backend behaves as the fake", async (t) => {
  await checkBehaviour(t, async () => {
    const namespace = await XtNamespace.create();
    const xtables = namespace.nft();
    return Object.assign(xtables, {
      [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose](),
    });
  });
});

for (const family of ipFamilies) {
  Deno.test(`each rule is the expressions that iptables-nft makes of its text, ${family}`, async () => {
    await using theirs = await XtNamespace.create();
    await using ours = await XtNamespace.create();
    for (const namespace of [theirs, ours]) await namespace.addSampleObjects();
    // Whoever does not ask for a mask gets all its bytes, also those that IPv4 does not look at.
    const text = sampleText(family).replaceAll(/ --mask \S+ --rsource/g, "");
    await theirs.restore(text, { family });
    const mine = ours.transport();
    await ours.nft(mine).commit(family, sampleChanges(family));
    const reference = theirs.transport();
    for (const { chain, name, table } of sampleChains(family)) {
      assert.deepEqual(
        await expressionsOf(mine, family, { table, chain }),
        await expressionsOf(reference, family, { table, chain }),
        name,
      );
    }
  });

  Deno.test(`rules of iptables-nft are read as what they say, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    await namespace.addSampleObjects();
    await namespace.restore(sampleText(family), { family });
    const xtables = namespace.nft();
    for (const { chain, name, rule, table, text } of sampleChains(family)) {
      const reading = await xtables.read(family, [table]);
      const listed = await reading.rules(table, [chain]);
      assert.deepEqual(
        listed.get(chain)?.map((each) => [each.key, each.rule]),
        [[text, rule]],
        name,
      );
    }
  });

  Deno.test(`iptables-nft saves our rules as its own, and takes them back, ${family}`, async () => {
    await using ours = await XtNamespace.create();
    await using theirs = await XtNamespace.create();
    for (const namespace of [theirs, ours]) await namespace.addSampleObjects();
    await theirs.restore(sampleText(family), { family });
    await ours.nft().commit(family, sampleChanges(family));
    for (const table of ["nat", "filter"]) {
      const saved = await ours.save({ family, table });
      assert.equal(saved, await theirs.save({ family, table }));
      await ours.restore(saved, { family, test: true });
    }
  });

  Deno.test(`both engines of iptables save the same text of our samples, ${family}`, async () => {
    await using namespace = await XtNamespace.create();
    await namespace.addSampleObjects();
    await namespace.restore(sampleText(family), { family });
    await namespace.restore(sampleText(family), { family, backend: "legacy" });
    for (const table of ["nat", "filter"]) {
      assert.equal(
        await namespace.save({ family, table, backend: "legacy" }),
        await namespace.save({ family, table }),
      );
    }
  });

  Deno.test(`built-in chains are those that iptables-nft makes, ${family}`, async () => {
    await using ours = await XtNamespace.create();
    await using theirs = await XtNamespace.create();
    const tables = ["raw", "mangle", "nat", "filter", "security"] as const;
    const changes = tables.map((table): XtChange => ({ kind: "add-table", table }));
    await ours.nft().commit(family, changes);
    for (const table of tables) {
      // A table's chains are made when something is added to them.
      const chains = await ours.save({ family, table });
      const rules = [...chains.matchAll(/^:(\S+)/gm)].map(([, chain]) => `-A ${chain} -j ACCEPT`);
      await theirs.restore(`*${table}\n${rules.join("\n")}\nCOMMIT\n`, { family });
      await theirs.restore(
        `*${table}\n${rules.join("\n").replaceAll("-A", "-D")}\nCOMMIT\n`,
        { family },
      );
    }
    assert.equal(
      sorted(await ours.run(["nft", "list", "ruleset"])),
      sorted(await theirs.run(["nft", "list", "ruleset"])),
    );
  });
}

Deno.test("a policy that somebody set stays when the table is added again", async () => {
  await using namespace = await XtNamespace.create();
  await namespace.run(["iptables-nft", "-P", "FORWARD", "DROP"]);
  const xtables = namespace.nft();
  await xtables.commit("IPv4", [{ kind: "add-table", table: "filter" }]);
  assert.match(await namespace.save({ family: "IPv4" }), /^:FORWARD DROP/m);
});

Deno.test("many chains are read in slices, and those that differ are found", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  const chains = Array.from({ length: 1_234 }, (_, index) => `CHAIN-${index}`);
  const rule = { matches: [], target: { kind: "return" } } as const;
  await xtables.commit("IPv4", [
    { kind: "add-table", table: "nat" },
    ...chains.map((chain): XtChange => ({ kind: "add-chain", table: "nat", chain })),
  ]);
  await xtables.commit(
    "IPv4",
    chains.slice(3).map((chain): XtChange => ({ kind: "append-rule", table: "nat", chain, rule })),
  );
  const wanted = new Map(chains.map((chain) => [chain, [rule]]));
  wanted.set("CHAIN-NONE", []);
  wanted.set("CHAIN-1", []);
  wanted.set("CHAIN-777", []);
  const reading = await xtables.read("IPv4", ["nat"]);
  assert.deepEqual(await reading.differing("nat", wanted), [
    "CHAIN-0",
    "CHAIN-2",
    "CHAIN-777",
    "CHAIN-NONE",
  ]);
  const listed = await reading.rules("nat", [...chains, "CHAIN-NONE"]);
  assert.equal(listed.size, chains.length);
  assert.equal([...listed.values()].flat().length, chains.length - 3);
});

Deno.test("digests tell of every change, and only of chains that are asked for", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  const tables = ["nat", "filter"] as const;
  const digest = () => xtables.digest("IPv4", tables);
  const ofChains = async (...chains: readonly string[]) =>
    Array.from(await xtables.live("IPv4").digests("nat", chains));
  const nat = ["iptables-nft", "-t", "nat"];
  await namespace.run([...nat, "-N", "A"]);
  await namespace.run([...nat, "-N", "B"]);
  await namespace.run([...nat, "-A", "A", "-j", "B"]);
  const [whole, chains] = [await digest(), await ofChains("A", "B", "NONE")];
  assert.equal(new Set(chains).size, 2, "two have no rules");
  // Elsewhere.
  await namespace.run(["iptables-nft", "-t", "mangle", "-N", "A"]);
  await namespace.run(["nft", "add table ip neighbour; add chain ip neighbour A"]);
  assert.equal(await digest(), whole);
  // Another rule in the place of one shows in the digest of its chain alone.
  await namespace.run([...nat, "-R", "A", "1", "-j", "B", "-s", "192.0.2.1"]);
  assert.equal(await digest(), whole);
  const replaced = await ofChains("A", "B", "NONE");
  assert.notEqual(replaced[0], chains[0]);
  assert.deepEqual(replaced.slice(1), chains.slice(1));
  await namespace.run([...nat, "-F", "A"]);
  const flushed = await digest();
  assert.notEqual(flushed, whole);
  assert.equal((await ofChains("A"))[0], chains[1]);
  await namespace.run(["iptables-nft", "-t", "filter", "-A", "INPUT", "-j", "ACCEPT"]);
  assert.notEqual(await digest(), flushed);
});

Deno.test("rules are deleted by what they say, as often as they come and go", async () => {
  await using namespace = await XtNamespace.create();
  const transport = namespace.transport();
  const xtables = namespace.nft(transport);
  const place = { table: "nat", chain: "OUTPUT" } as const;
  const rule = (text: string) => ({ matches: [{ kind: "comment", text }] }) as const;
  await xtables.commit("IPv4", [{ kind: "add-table", table: "nat" }]);
  let reads = 0;
  const queryEach = transport.queryEach.bind(transport);
  transport.queryEach = (queries) => (reads++, queryEach(queries));
  for (let round = 0; round < 3; round++) {
    const inserted = ["one", "two", "two"].map((text): XtChange => ({
      kind: "insert-rule",
      ...place,
      rule: rule(text),
    }));
    await xtables.commit("IPv4", inserted);
    for (const text of ["two", "one", "two"]) {
      await xtables.commit("IPv4", [{ kind: "delete-rule", ...place, rule: rule(text) }]);
    }
  }
  // The chain is read for the first deletion alone: from then on the kernel tells the handles.
  assert.equal(reads, 1);
  const reading = await xtables.read("IPv4", ["nat"]);
  assert.deepEqual((await reading.rules("nat", ["OUTPUT"])).get("OUTPUT"), []);
});

Deno.test("a rule that somebody else deleted is refused, not another one deleted", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  const rule = { matches: [{ kind: "comment", text: "ours" }] } as const;
  const place = { table: "nat", chain: "OUTPUT" } as const;
  await xtables.commit("IPv4", [
    { kind: "add-table", table: "nat" },
    { kind: "insert-rule", ...place, rule },
  ]);
  await (await xtables.read("IPv4", ["nat"])).rules("nat", ["OUTPUT"]);
  await namespace.run(["iptables-nft", "-t", "nat", "-D", "OUTPUT", "1"]);
  await namespace.run(["iptables-nft", "-t", "nat", "-A", "OUTPUT", "-j", "ACCEPT"]);
  await assert.rejects(xtables.commit("IPv4", [{ kind: "delete-rule", ...place, rule }]), {
    name: "XtablesError",
    message: 'Cannot delete rule "-m comment --comment ours" of chain "OUTPUT" of iptables table ' +
      '"nat": no such object (ENOENT)',
  });
  assert.match(await namespace.save({ family: "IPv4", table: "nat" }), /-A OUTPUT -j ACCEPT/);
});

Deno.test("what a kernel lacks is named", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  // No table but nat has this target: as good as a kernel without it.
  const rule = { matches: [], target: { kind: "masquerade", randomFully: true } } as const;
  const changes: readonly XtChange[] = [
    { kind: "add-table", table: "filter" },
    { kind: "append-rule", table: "filter", chain: "OUTPUT", rule },
  ];
  await assert.rejects(xtables.commit("IPv4", changes), {
    message: 'Cannot add rule "-j MASQUERADE --random-fully" to chain "OUTPUT" of iptables table ' +
      '"filter": expression "target MASQUERADE": invalid argument (EINVAL)',
  });
});

Deno.test("a stamp moves with every commit of anybody", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  const first = await xtables.stamp();
  const receipt = await xtables.commit("IPv4", [{ kind: "add-table", table: "nat" }]);
  assert.deepEqual(receipt, { before: first, after: await xtables.stamp(), isOwn: true });
  await namespace.run(["iptables-nft", "-t", "nat", "-A", "OUTPUT", "-j", "ACCEPT"]);
  assert.notEqual(await xtables.stamp(), receipt?.after);
});

/** The lines, sorted: tables and chains come in the order in which they were made. */
function sorted(listing: string): string {
  return listing.split(/\n(?=table|\tchain)/).map((part) => part.replace(/\n}\s*$/, "").trimEnd())
    .toSorted().join("\n");
}
