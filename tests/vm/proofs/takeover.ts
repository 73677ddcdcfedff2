/** ipvs mode goes from upstream's proxy to ours and back, under traffic: nothing is cut, nothing fails. */
import assert from "node:assert/strict";
import { ourProgram, type ProxyProgram } from "../../controlplane/rig/proxy_process.ts";
import { ipvsModes } from "../../scenarios/setups.ts";
import { ProofNode, upstreams } from "../inside/proof.ts";
import { summaryOf, Traffic, type TrafficReport } from "../inside/traffic.ts";
import { tellOutside } from "../outside.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const [mode] = ipvsModes;
/** Upstream's second sync comes by its clock, and what the first did shows by then. */
const SETTLE_MS = 5_000;

/** The programs follow each other; each starts when the one before has ended. */
async function handOver(programs: readonly ProxyProgram[]): Promise<TrafficReport> {
  await using node = await ProofNode.create();
  const [first, ...others] = programs;
  let proxy = await node.start(first, mode);
  const traffic = await Traffic.start(node.cluster);
  for (const program of others) {
    await proxy[Symbol.asyncDispose]();
    await traffic.look(`${proxy.process.program.name} has ended`);
    proxy = await node.start(program, mode);
    await traffic.look(`${program.name} has synced`);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    await traffic.look(`${program.name} rests`);
  }
  const report = await traffic.stop();
  await proxy[Symbol.asyncDispose]();
  const title = programs.map(({ name }) => name).join(" -> ");
  tellOutside("measured", { title, ...summaryOf(report) });
  return report;
}

if (isFull) {
  Deno.test("upstream's ipvs mode, restarted: what everybody has today", async () => {
    const report = await handOver([upstreams(), upstreams()]);
    assert.ok(report.new > 0);
  });
}

Deno.test("upstream's ipvs mode, ours, upstream's: no connection is cut and none fails", async () => {
  const report = await handOver([upstreams(), ourProgram(), upstreams()]);
  assert.deepEqual([report.cut, report.failed], [[], {}]);
});
