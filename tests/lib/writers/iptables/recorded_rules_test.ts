/** The comparison with what upstream's proxy writes; `controlplane/proxy_fates_test.ts` compares. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import {
  differencesFromRecord,
  knownDifferences,
  readRecordedRules,
} from "../../../peers/recorded_rules.ts";
import { iptablesModes, setupsOf } from "../../../scenarios/setups.ts";

const [mode] = iptablesModes;
const [setup, unknown] = setupsOf(mode);

Deno.test("differencesFromRecord() finds no difference in what was recorded, in every set-up", async () => {
  for (const each of setupsOf(mode)) {
    for (const family of ipFamilies) {
      const recorded = await readRecordedRules(each, family);
      assert.ok(recorded.length > 600, `${recorded.length} lines`);
      assert.deepEqual(differencesFromRecord(recorded.join("\n"), recorded), []);
    }
  }
});

Deno.test("differencesFromRecord() names what is missing, added, changed, or stands elsewhere", async () => {
  const recorded = await readRecordedRules(setup, "IPv4");
  const differences = (change: (lines: string[]) => void): readonly string[] => {
    const lines = [...recorded];
    change(lines);
    return differencesFromRecord(lines.join("\n"), recorded);
  };
  const drop = recorded.findIndex((line) => line.startsWith("-A KUBE-FORWARD"));
  assert.deepEqual(differences((lines) => lines.splice(drop, 1)), [`- ${recorded[drop]}`]);
  const added = "-A KUBE-FORWARD -j ACCEPT";
  assert.deepEqual(differences((lines) => lines.splice(drop, 0, added)), [`+ ${added}`]);
  assert.equal(
    differences((lines) => lines.splice(drop, 2, lines[drop + 1], lines[drop])).length,
    2,
  );
  const shared = recorded.findIndex((line) => line.includes("external IP"));
  assert.equal(differences((lines) => lines[shared] = `${lines[shared]} -x`).length, 2);
});

Deno.test("differencesFromRecord() takes service ports of shared chains in any order, the dispatch last", async () => {
  const recorded = await readRecordedRules(setup, "IPv4");
  const first = recorded.findIndex((line) => line.includes("shop/half-ready:tcp-80 cluster IP"));
  const last = recorded.findLastIndex((line) => line.startsWith("-A KUBE-SERVICES"));
  assert.match(recorded[last], /nodeports; NOTE/);
  const moved = recorded.toSpliced(first, 1).toSpliced(last - 1, 0, recorded[first]);
  assert.deepEqual(differencesFromRecord(moved.join("\n"), recorded), []);
});

Deno.test("readRecordedRules() gives each set-up its own rules", async () => {
  const [one, other] = await Promise.all(
    [setup, unknown].map((each) => readRecordedRules(each, "IPv6")),
  );
  assert.notDeepEqual(differencesFromRecord(one.join("\n"), other), []);
});

Deno.test("rules that differ from upstream's have a row for users, and are five kinds at most", async () => {
  const rows = await Deno.readTextFile(new URL("../../../../docs/differences.md", import.meta.url));
  assert.ok(knownDifferences.length <= 5);
  for (const { row } of knownDifferences) assert.ok(rows.includes(`\n| ${row} |`), row);
});
