import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { decodeRule } from "../../../../lib/kernel/xtables/decode_rule.ts";
import { writeExpressions } from "../../../../lib/kernel/xtables/encode_rule.ts";
import { sampleRules, sampleSets } from "./sample_rules.ts";

for (const family of ipFamilies) {
  Deno.test(`decodeRule() reads what writeExpressions() wrote, ${family}`, () => {
    for (const { name, rule } of sampleRules(family)) {
      const writer = new MessageWriter();
      writeExpressions(writer, { rule, family, sets: sampleSets });
      assert.deepEqual(decodeRule(writer.bytes(), family, { sets: sampleSets }), rule, name);
    }
  });
}
