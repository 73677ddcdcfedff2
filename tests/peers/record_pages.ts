/**
 * Records what upstream's proxy shows on its pages, for `tests/controlplane/proxy_pages_test.ts`:
 *   deno run -A tests/peers/record_pages.ts [--mode=nftables|iptables]
 */
import { parseArgs } from "node:util";
import { controlPlaneVersion } from "../controlplane/rig/binaries.ts";
import { upstreamProgram } from "../controlplane/rig/proxy_process.ts";
import { SmallCluster } from "../controlplane/rig/small_cluster.ts";
import { allModes } from "../scenarios/setups.ts";
import { parseExposition, shapeOf } from "./exposition.ts";
import {
  ExercisedProxy,
  healthPage,
  metricsPage,
  page,
  recordOfPages,
  serveUdp,
} from "./pages_scenario.ts";

const { values } = parseArgs({ options: { mode: { type: "string", default: "nftables" } } });
// Both of iptables' engines show the same pages.
const mode = allModes.find(({ kind }) => kind === values.mode);
if (!mode) throw new Error(`Cannot record: no mode "${values.mode}"`);
const program = upstreamProgram();
if (!program) throw new Error("Cannot record: no kube-proxy; run scripts/controlplane-tools");
await using cluster = await SmallCluster.create();
await serveUdp(cluster);
await using _proxy = await ExercisedProxy.run(cluster, { program, mode });
const shapes = async (path: string) =>
  [...parseExposition((await page(metricsPage + path)).body).values()].map(shapeOf);
const paths = ["/proxyMode", "/configz", "/healthz", "/healthz?verbose", "/nothing"];
const pages = await Promise.all(
  paths.map(async (path) => [path, await page(metricsPage + path)] as const),
);
const health = await Promise.all(
  ["/healthz", "/livez", "/nothing"].map(async (path) =>
    [path, await page(healthPage + path)] as const
  ),
);
const record = {
  version: controlPlaneVersion,
  date: new Date().toISOString().slice(0, 10),
  metrics: await shapes("/metrics"),
  slis: await shapes("/metrics/slis"),
  pages: Object.fromEntries(pages),
  health: Object.fromEntries(health),
};
const url = recordOfPages(mode);
await Deno.mkdir(new URL(".", url), { recursive: true });
await Deno.writeTextFile(url, `${JSON.stringify(record, null, 2)}\n`);
