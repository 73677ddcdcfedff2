/** The nft backend beside iptables-nft itself: each writes, each reads the other's. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import type { XtChange } from "../../../lib/kernel/xtables/rules.ts";
import { checkBehaviour, checkCompositions } from "../../lib/kernel/xtables/behaviour.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { CommitNotices } from "../../../lib/kernel/nf_tables/commit_notices.ts";
import { ruleText } from "../../../lib/kernel/xtables/text.ts";
import { expressionsOf } from "./expressions.ts";
import { XtNamespace } from "./namespace.ts";
import { sampleChains, sampleChanges, sampleText } from "../../lib/kernel/xtables/sample_chains.ts";

Deno.test("the nft backend behaves as the fake", async (t) => {
  await checkBehaviour(t, openNft);
});

Deno.test("the nft backend takes changes one by one, and all of them together", async (t) => {
  await checkCompositions(t, openNft);
});

Deno.test("a rule that was written anew by many changes is deleted by its new number", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  const place = { table: "nat", chain: "A" } as const;
  const rule = { matches: [{ kind: "comment", text: "one" }] } as const;
  const append: XtChange = { kind: "append-rule", ...place, rule };
  await xtables.commit("IPv4", [
    { kind: "add-table", table: "nat" },
    { kind: "add-chain", ...place },
    append,
  ]);
  await xtables.live("IPv4").rules("nat", ["A"]);
  const composition = xtables.compose?.("IPv4");
  composition?.add([{ kind: "flush-chain", ...place }, append]);
  await composition?.commit();
  await xtables.commit("IPv4", [{ kind: "delete-rule", ...place, rule }]);
  assert.deepEqual((await xtables.live("IPv4").rules("nat", ["A"])).get("A"), []);
});

async function openNft() {
  const namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  return Object.assign(xtables, {
    [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose](),
  });
}

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

Deno.test("chains are known to hold their rules without reading them", async (t) => {
  for (const family of ipFamilies) {
    await t.step(family, async () => {
      await using namespace = await XtNamespace.create();
      await namespace.addSampleObjects();
      const transport = namespace.transport();
      const xtables = namespace.nft(transport);
      await xtables.commit(family, sampleChanges(family));
      let read = 0;
      const queryEach = transport.queryEach.bind(transport);
      transport.queryEach = (queries) => (read += queries.names.length, queryEach(queries));
      const samples = sampleChains(family);
      for (const table of ["nat", "filter"] as const) {
        const own = samples.filter((sample) => sample.table === table);
        const wanted = new Map(own.map(({ chain, rule }) => [chain, [rule]]));
        assert.deepEqual(await xtables.live(family).differing(table, wanted), []);
        assert.equal(read, 0, "as the kernel tells what we wrote");
        // The same rules, each in the chain of the next one.
        const chains = [...wanted.keys()];
        const moved = new Map(own.map(({ rule }, i) => [chains[(i + 1) % chains.length], [rule]]));
        const found = await xtables.live(family).differing(table, moved);
        assert.deepEqual(
          found,
          [...moved.keys()].filter((chain) =>
            moved.get(chain) !== undefined && ruleText(moved.get(chain)![0], family) !==
              ruleText(wanted.get(chain)![0], family)
          ),
        );
        read = 0;
      }
    });
  }
});

Deno.test("packets that rules counted make no difference", async () => {
  await using namespace = await XtNamespace.create();
  const transport = namespace.transport();
  const xtables = namespace.nft(transport);
  const rule = { matches: [], target: { kind: "accept" } } as const;
  await namespace.run("iptables-nft -A OUTPUT -j ACCEPT -c 7 420".split(" "));
  transport.queryEach = () => Promise.reject(new Error("was read"));
  const wanted = new Map([["OUTPUT", [rule]]]);
  assert.deepEqual(await xtables.live("IPv4").differing("filter", wanted), []);
});

Deno.test("hear() tells which chains each commit of anybody touched", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  await xtables.commit("IPv4", [{ kind: "add-table", table: "nat" }]);
  const before = await xtables.stamp();
  assert.equal((await xtables.hear("IPv4")).of(before), "later");
  assert.equal((await xtables.hear("IPv4")).of(String(Number(before) - 1)), "lost", "of before");
  const nat = (chain: string, isListed: boolean) => ({ table: "nat", chain, isListed });
  const told: readonly (readonly [does: string, chains: readonly unknown[]])[] = [
    ["iptables-nft -t nat -N A", [nat("A", true)]],
    ["iptables-nft -t nat -A A -j ACCEPT", [nat("A", false)]],
    ["iptables-nft -t nat -R A 1 -j RETURN", [nat("A", false)]],
    ["iptables-nft -t nat -F A", [nat("A", false)]],
    ["iptables-nft -t nat -E A B", [nat("B", true)]],
    ["nft add table ip neighbour", []],
    ["nft add chain ip neighbour C", []],
    ["ip6tables-nft -t nat -N A", []],
    ["iptables-nft -t nat -X B", [nat("B", true)]],
  ];
  let stamp = before;
  for (const [does, expected] of told) {
    await namespace.run(does.split(" "));
    const hearing = await xtables.hear("IPv4");
    const chains: unknown[] = [];
    // A tool may need several commits.
    for (const end = await xtables.stamp(); stamp !== end;) {
      const touched = hearing.of(stamp);
      assert.ok(typeof touched === "object", `${does}: ${touched}`);
      const isNoted = ({ chain, table }: { readonly chain: string; readonly table: string }) =>
        !chains.some((each) => JSON.stringify(each).includes(`"${table}","chain":"${chain}"`));
      chains.push(...touched.chains.filter((each) => each.table === "nat" && isNoted(each)));
      stamp = touched.after;
    }
    assert.deepEqual(
      chains.filter((each) => !JSON.stringify(each).includes("ROUTING")),
      expected,
      does,
    );
  }
  assert.deepEqual((await xtables.hear("IPv6")).of(stamp), "later");
});

Deno.test("hear() says what it lost, and goes on behind that", async () => {
  await using namespace = await XtNamespace.create();
  const path = `/run/netns/${namespace.name}`;
  const transport = namespace.transport();
  const notices = inNetworkNamespace(path, () => new CommitNotices({ receiveBufferBytes: 4_096 }));
  try {
    const xtables = namespace.nft(transport);
    const generation = () => transport.generation();
    await xtables.commit("IPv4", [{ kind: "add-table", table: "nat" }]);
    await notices.read(generation);
    const chains = Array.from({ length: 400 }, (_, i): XtChange => ({
      kind: "add-chain",
      table: "nat",
      chain: `CHAIN-${i}`,
    }));
    await xtables.commit("IPv4", chains);
    const flooded = await transport.generation();
    await notices.read(generation);
    assert.equal(notices.of(flooded), "lost");
    assert.equal(notices.of(flooded + 1), "later");
    await xtables.commit("IPv4", [{ kind: "delete-chain", table: "nat", chain: "CHAIN-7" }]);
    await notices.read(generation);
    assert.deepEqual(notices.of(flooded + 1), [
      { nfproto: 2, table: "nat", chain: "CHAIN-7", isListed: true },
    ]);
  } finally {
    notices.close();
  }
});

Deno.test("a digest tells of every change but of one rule that took the place of another", async () => {
  await using namespace = await XtNamespace.create();
  const xtables = namespace.nft();
  const tables = ["nat", "filter"] as const;
  const digest = () => xtables.digest("IPv4", tables);
  const nat = ["iptables-nft", "-t", "nat"];
  await namespace.run([...nat, "-N", "A"]);
  await namespace.run([...nat, "-N", "B"]);
  await namespace.run([...nat, "-A", "A", "-j", "B"]);
  const whole = await digest();
  // Elsewhere.
  await namespace.run(["iptables-nft", "-t", "mangle", "-N", "A"]);
  await namespace.run(["nft", "add table ip neighbour; add chain ip neighbour A"]);
  assert.equal(await digest(), whole);
  await namespace.run([...nat, "-R", "A", "1", "-j", "B", "-s", "192.0.2.1"]);
  assert.equal(await digest(), whole);
  await namespace.run([...nat, "-F", "A"]);
  const flushed = await digest();
  assert.notEqual(flushed, whole);
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
