/** Other software on a node has its own version of iptables: rules of a newer one are read, and it reads ours. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { newerTool, versionOf } from "../rig/newer_tool.ts";
import { expressionsOf } from "./expressions.ts";
import { XtNamespace } from "./namespace.ts";
import { sampleChains, sampleChanges, sampleText } from "../../lib/kernel/xtables/sample_chains.ts";

/** Says what is missing where it cannot be had; continuous integration takes no such excuse. */
const through = await newerTool("iptables");
const ignore = through === undefined && !Deno.env.has("CI");
const missing = "no newer iptables: see scripts/newer-tool";

Deno.test({
  name: "the newer iptables is newer",
  ignore,
  fn: async () => {
    assert.ok(through, missing);
    const [ours, theirs] = await Promise.all([
      versionOf(["iptables-nft"]),
      versionOf([through, "iptables-nft"]),
    ]);
    assert.ok(theirs > ours, `${theirs} > ${ours}`);
  },
});

for (const family of ipFamilies) {
  Deno.test({
    name: `rules of a newer iptables are read as what they say, ${family}`,
    ignore,
    fn: async () => {
      assert.ok(through, missing);
      await using namespace = await XtNamespace.create();
      await namespace.addSampleObjects();
      await namespace.restore(sampleText(family), { family, through });
      await using ours = await XtNamespace.create();
      await ours.addSampleObjects();
      const [theirs, mine] = [namespace.transport(), ours.transport()];
      await ours.nft(mine).commit(family, sampleChanges(family));
      const xtables = namespace.nft(theirs);
      let otherwise = 0;
      for (const { chain, name, rule, table, text } of sampleChains(family)) {
        const reading = await xtables.read(family, [table]);
        const listed = await reading.rules(table, [chain]);
        assert.deepEqual(
          listed.get(chain)?.map((each) => [each.key, each.rule]),
          [[text, rule]],
          name,
        );
        const place = { table, chain };
        const forms = [
          await expressionsOf(theirs, family, place),
          await expressionsOf(mine, family, place),
        ];
        if (String(forms[0]) !== String(forms[1])) otherwise++;
      }
      // Else this would not show that another form is read.
      assert.ok(otherwise > 5, `${otherwise} rules are in another form than ours`);
    },
  });

  Deno.test({
    name: `a newer iptables saves our rules as its own, and takes them back, ${family}`,
    ignore,
    fn: async () => {
      assert.ok(through, missing);
      await using ours = await XtNamespace.create();
      await using theirs = await XtNamespace.create();
      for (const namespace of [theirs, ours]) await namespace.addSampleObjects();
      await theirs.restore(sampleText(family), { family, through });
      await ours.nft().commit(family, sampleChanges(family));
      for (const table of ["nat", "filter"]) {
        const saved = await ours.save({ family, table, through });
        assert.equal(saved, await theirs.save({ family, table, through }));
        await ours.restore(saved, { family, through, test: true });
      }
    },
  });
}
