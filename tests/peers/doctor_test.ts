/** doctor on clean nodes that upstream's proxy serves, beside a real apiserver: no false alarm. ipvs mode has its own, in a virtual machine. */
import assert from "node:assert/strict";
import { upstreamProgram } from "../controlplane/rig/proxy_process.ts";
import { Cluster } from "../kernel/rig/cluster.ts";
import { hasLockedUp } from "../kernel/rig/kernel_log.ts";
import { deleteRules } from "../kernel/rig/mode_rules.ts";
import { ApiserverProgrammer } from "../kernel/rig/programmers/apiserver.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { allModes, nameOfMode, setupsOf } from "../scenarios/setups.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { examineNode, idsOf } from "../vm/inside/examination.ts";

Deno.test("doctor on clean nodes of upstream's proxy", async (test) => {
  const program = upstreamProgram();
  assert.ok(program, "no kube-proxy of upstream; run scripts/controlplane-tools");
  // A warning of what this machine's own kernel logged is no false one.
  const expected = ["CFG07", ...await hasLockedUp() ? ["KRN07"] : []];
  await using cluster = await Cluster.create();
  await using programmer = await ApiserverProgrammer.create(program);
  for (const mode of allModes) {
    await test.step(`finds nothing that fails in ${nameOfMode(mode)} mode`, async () => {
      const [setup] = setupsOf(mode);
      const manifests = clusterManifests(shopServices);
      {
        await using _proxy = await programmer.start(cluster, { manifests, setup });
        const told = await examineNode({ cluster, programmer }, mode.kind);
        const wrong = [...told.checks.values()]
          .filter(({ result }) => result === "fail" || result === "unknown");
        assert.deepEqual(wrong, []);
        assert.equal(told.from, mode.kind);
        assert.deepEqual(told.verdict, { canMove: true, changes: 0, because: [] });
        assert.equal(told.code, 0);
        const rehearsal = told.checks.get("DRY01")?.evidence.join("\n") ?? "";
        assert.match(rehearsal, /: all as they should/);
        assert.doesNotMatch(rehearsal, /would stop answering/);
        assert.deepEqual(idsOf(told, "warn").filter((id) => !expected.includes(id)), [], rehearsal);
      }
      await deleteRules((argv, stdin) => cluster.run("node", argv, stdin), mode);
    });
  }
});
