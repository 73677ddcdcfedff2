/**
 * doctor on clean nodes that upstream's proxy serves, beside a real apiserver: no false alarm. In ipvs
 * mode, and in the long form in each; `tests/peers/doctor_test.ts` has the others on this machine's kernel.
 */
import assert from "node:assert/strict";
import { iptablesModes, ipvsModes, nameOfMode, nftablesMode } from "../../scenarios/setups.ts";
import { Seen } from "../../lib/doctor/showings.ts";
import { examineNode, idsOf } from "../inside/examination.ts";
import { ProofNode, upstreamHasNftables, upstreams } from "../inside/proof.ts";
import { tellOutside } from "../outside.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;

const allModes = [...upstreamHasNftables ? [nftablesMode] : [], ...iptablesModes, ...ipvsModes];

for (const mode of isFull ? allModes : [ipvsModes[0]]) {
  Deno.test(`doctor finds nothing that fails on a clean node of upstream's ${nameOfMode(mode)} mode`, async () => {
    await using node = await ProofNode.create();
    await using _proxy = await node.start(upstreams(), mode);
    const told = await examineNode(node, mode.kind);
    const seen = new Seen("cleanNode");
    seen.add(told.checks.values());
    tellOutside("measured", {
      title: `doctor on upstream's ${nameOfMode(mode)} mode`,
      warn: idsOf(told, "warn"),
      skip: idsOf(told, "skip"),
    });
    const wrong = [...told.checks.values()]
      .filter(({ result }) => result === "fail" || result === "unknown");
    assert.deepEqual(wrong, []);
    assert.equal(told.from, mode.kind);
    assert.deepEqual(told.verdict, { canMove: true, changes: 0, because: [] });
    assert.equal(told.code, 0);
    if (mode.kind === "ipvs") seen.assertAll();
    // What serves now is what will serve: nothing stops answering.
    const rehearsal = told.checks.get("DRY01");
    assert.match(rehearsal?.evidence.join("\n") ?? "", /: all as they should/);
    assert.doesNotMatch(rehearsal?.evidence.join("\n") ?? "", /would stop answering/);
  });
}
