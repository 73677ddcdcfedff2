/** What others do to the rules of iptables mode, with iptables' own tools, is put right by the running program. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { clusterManifests } from "../scenarios/manifests.ts";
import { iptablesModes, nameOfMode, type RuleMode, setupsOf } from "../scenarios/setups.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import type { Cluster } from "./rig/cluster.ts";
import { ManifestFolder, ProgramProcess } from "./rig/programmers/program.ts";
import { differentLines, ruleLines } from "./rig/rule_lines.ts";
import { createShopCluster } from "./rig/shop_cluster.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const REPAIR_DEADLINE_MS = 5_000;
/** A rule that takes another one's place changes no count that is looked at often. */
const REPLACED_DEADLINE_MS = 60_000;

/** What somebody does at once, as the input of `iptables-restore`. */
interface Damage {
  readonly name: string;
  readonly lines: readonly string[];
  /** The tables are empty before. */
  readonly anew: boolean;
  readonly deadlineMs: number;
}

const damages: readonly Damage[] = [
  damage("a rule of a shared chain is deleted", "*nat", "-D KUBE-SERVICES 1"),
  damage("a shared chain is flushed", "*filter", "-F KUBE-SERVICES"),
  damage("a jump from a base chain is deleted", "*nat", "-D PREROUTING 1"),
  damage("a rule is added to a chain of ours", "*filter", "-A KUBE-FORWARD -j DROP"),
  { ...damage("a firewall starts anew with nat", "*nat"), anew: true },
  {
    ...damage("a firewall starts anew", "*filter", "COMMIT", "*nat", "COMMIT", "*mangle"),
    anew: true,
  },
];

const replaced: Damage = {
  ...damage("a rule is replaced", "*nat", "-R KUBE-MARK-MASQ 1 -j MARK --set-xmark 0x8000/0x8000"),
  deadlineMs: REPLACED_DEADLINE_MS,
};

function damage(name: string, ...lines: string[]): Damage {
  return { name, lines: [...lines, "COMMIT", ""], anew: false, deadlineMs: REPAIR_DEADLINE_MS };
}

/** Some of them come right after another, as a repair has just been made. */
const tried = () => isFull ? [...damages, replaced] : damages.filter((_, index) => index % 2 === 1);

for (const mode of iptablesModes) {
  Deno.test(`foreign edits of our rules are repaired within 5 s, ${nameOfMode(mode)}`, async (test) => {
    await using cluster = await createShopCluster();
    await using folder = await ManifestFolder.create(clusterManifests(shopServices));
    const [setup] = setupsOf(mode);
    await using proxy = await ProgramProcess.start(cluster, { folder, setup });
    const before = await allLines(cluster, mode);
    assert.ok(before.every(({ length }) => length > 500));
    for (const { name, lines, anew, deadlineMs } of tried()) {
      await test.step(name, async () => {
        for (const family of ipFamilies) {
          const argv = [restoreTool(mode, family), "-w", "5", ...anew ? [] : ["--noflush"]];
          await cluster.run("node", argv, lines.join("\n"));
        }
        const started = performance.now();
        for (;;) {
          const now = await allLines(cluster, mode);
          const different = before.flatMap((each, i) => differentLines(each, now[i]));
          if (different.length === 0) return;
          const isLate = performance.now() - started > deadlineMs;
          assert.ok(!isLate, `still different:\n${different.join("\n")}\n${proxy.log()}`);
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      });
    }
  });
}

function allLines(cluster: Cluster, mode: RuleMode) {
  return Promise.all(ipFamilies.map((family) => ruleLines(cluster, { mode, family })));
}

function restoreTool(mode: RuleMode, family: IpFamily): string {
  const backend = mode.kind === "iptables" ? mode.backend : "nft";
  return `${family === "IPv4" ? "iptables" : "ip6tables"}-${backend}-restore`;
}
