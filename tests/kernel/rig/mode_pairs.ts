/**
 * One mode over what another one left, for Services that changed since then: what becomes of packets
 * until the old rules are removed, and afterwards.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { loadBalancerIP } from "../../scenarios/addresses.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { type RuleMode, setupsOf } from "../../scenarios/setups.ts";
import { shopFates } from "../../scenarios/shop_fates.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import type { Cluster } from "./cluster.ts";
import { describeWrong, type FateResult, runFates } from "./fates.ts";
import { type OldRules, unchangedService } from "./old_rules.ts";
import { ourProgramArgv } from "./our_program.ts";
import { patience } from "./patience.ts";
import { ManifestFolder, ProgramProcess } from "./programmers/program.ts";
import { underLoad } from "./under_load.ts";

/** Wrong fates wait so long for their answer; right ones come at once. */
const ANSWER_TIMEOUT_MS = 1_000 * patience;

const SYNC_DEADLINE_MS = 5_000 * patience;

/** A pair, and in how many fates of 256 it may differ from the new mode alone until the cleanup. */
export interface Pair {
  readonly old: OldRules;
  readonly now: RuleMode;
  readonly most: number;
  /** Packets meet both rules: it differs much, and the program says so. */
  readonly isUnsafe?: boolean;
  /** All that differs until the cleanup, each of which the program names when it starts. */
  readonly differences?: readonly Difference[];
  /** Is told of each family which fates differed until the cleanup. */
  readonly onDifferent?: (names: readonly string[]) => void;
}

/** Fates that differ, by their names, and what the program says of them. */
export interface Difference {
  readonly fates: RegExp;
  readonly said: RegExp;
}

/** Starts the new mode over what is there, cleans up, and holds both to what the pair says. */
export async function takeOver(
  cluster: Cluster,
  pair: Pair,
  test: Deno.TestContext,
): Promise<void> {
  const { differences, isUnsafe = false, most, now, old } = pair;
  let started: Awaited<ReturnType<typeof startOver>> | undefined;
  await test.step("no connection to a Service that is as it was fails while it starts", () =>
    underLoad(cluster, load, async () => {
      started = await startOver(cluster, now);
      if (old.by === "us" && old.mode.kind === "nftables") {
        await started.proxy.said("flags dormant");
      }
    }));
  assert.ok(started);
  let { proxy } = started;
  const { folder } = started;
  await test.step("until the cleanup", async () => {
    for (const family of ipFamilies) {
      const wrong = await wrongFates(cluster, now, family);
      pair.onDifferent?.(wrong.map(({ name }) => name));
      assert.ok(wrong.length <= most, describeWrong(wrong));
      const unnamed = wrong.filter(({ name }) => !isNamed(name, differences));
      assert.equal(describeWrong(unnamed), "");
    }
    for (const { said } of differences ?? []) assert.match(proxy.log(), said);
    assert.match(
      proxy.log(),
      isUnsafe ? /Packets meet them beside this/ : /served as they should be/,
    );
  });
  await test.step("after the cleanup no fate differs", async () => {
    const mode = old.by === "userspace" ? old.by : old.mode.kind;
    const cleanup = async () => {
      const ran = await cluster.tryRun("node", [...ourProgramArgv(), "cleanup", `--mode=${mode}`]);
      assert.equal(ran.code, 0, ran.stdout + ran.stderr);
      assert.match(ran.stdout, /mode: removed \d+ things?\n/);
    };
    if (mode === now.kind) {
      // As the log says: its own rules go as well.
      await proxy[Symbol.asyncDispose]();
      await cleanup();
      proxy = await ProgramProcess.start(cluster, { folder, setup: setupsOf(now)[0] });
    } else {
      await underLoad(cluster, load, cleanup);
      await proxy.said("The rules that another proxy mode left are gone");
    }
    // What was there because of them alone goes with a sync that follows.
    const deadline = performance.now() + SYNC_DEADLINE_MS;
    for (const family of ipFamilies) {
      let wrong = await wrongFates(cluster, now, family);
      while (wrong.length > 0 && performance.now() < deadline) {
        wrong = await wrongFates(cluster, now, family);
      }
      assert.equal(describeWrong(wrong), "");
    }
  });
  await proxy[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
}

function isNamed(fate: string, differences: readonly Difference[] | undefined): boolean {
  return differences === undefined || differences.some(({ fates }) => fates.test(fate));
}

const load = {
  address: loadBalancerIP(numberOf(unchangedService)),
  perSecond: 200 / patience,
};

/** The program in a mode, with the Services as they are today. */
export async function startOver(cluster: Cluster, mode: RuleMode) {
  const folder = await ManifestFolder.create(clusterManifests(shopServices));
  const [setup] = setupsOf(mode);
  return { folder, proxy: await ProgramProcess.start(cluster, { folder, setup }) };
}

async function wrongFates(
  cluster: Cluster,
  mode: RuleMode,
  family: (typeof ipFamilies)[number],
): Promise<readonly FateResult[]> {
  const [setup] = setupsOf(mode);
  const options = { services: shopServices, rows: shopFates, setup, family };
  const results = await runFates(cluster, { ...options, answerTimeoutMs: ANSWER_TIMEOUT_MS });
  return results.filter(({ right }) => !right);
}

function numberOf(service: string): number {
  const found = shopServices.find(({ name }) => name === service);
  assert.ok(found);
  return found.number;
}
