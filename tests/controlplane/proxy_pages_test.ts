/**
 * Our pages beside the record of upstream's: the same scenario, the same names, types, labels, help
 * and buckets; and every metric that we have moves when something happens.
 */
import assert from "node:assert/strict";
import {
  type FamilyShape,
  type MetricFamily,
  parseExposition,
  shapeOf,
} from "../peers/exposition.ts";
import {
  ExercisedProxy,
  healthPage,
  metricsPage,
  type Page,
  page,
  recordOfPages,
  serveUdp,
} from "../peers/pages_scenario.ts";
import { allModes } from "../scenarios/setups.ts";
import { ourProgram } from "./rig/proxy_process.ts";
import { SmallCluster } from "./rig/small_cluster.ts";

interface Recorded {
  readonly metrics: readonly FamilyShape[];
  readonly slis: readonly FamilyShape[];
  readonly pages: Readonly<Record<string, Page>>;
  readonly health: Readonly<Record<string, Page>>;
}

/** What upstream shows and we do not: by prefix or name, and why. */
const absent: readonly { readonly name: RegExp; readonly why: string }[] = [
  { name: /^go_/, why: "Go's runtime, which this program does not have" },
  { name: /^apiserver_|^aggregator_/, why: "leftovers of the apiserver's libraries, always zero" },
  { name: /^cardinality_enforcement_/, why: "of a registry that drops labels; ours never does" },
  {
    name: /^rest_client_exec_plugin_/,
    why: "no plugin certificates are kept: plugins give tokens",
  },
  {
    name: /^rest_client_transport_/,
    why: "Go's cache of transports; there is one connection here",
  },
];

/** Labels and families that are ours alone are in docs/metrics.md. */
const ownFamilies =
  /^kubeproxy_(apiserver|deprecated|drift|leftovers|namespaces|optout|opted|rules|sync_skipped|watch)/;

/** Both of iptables' engines show the same pages. */
const [nftables, iptables] = allModes;

for (const mode of [nftables, iptables]) {
  Deno.test(`the program's pages are those that upstream's proxy shows, ${mode.kind}`, async (test) => {
    const recorded: Recorded = JSON.parse(await Deno.readTextFile(recordOfPages(mode)));
    await using cluster = await SmallCluster.create();
    await serveUdp(cluster);
    await using proxy = await ExercisedProxy.run(cluster, { program: ourProgram(), mode });
    const families = parseExposition((await page(`${metricsPage}/metrics`)).body);

    await test.step("every family of upstream is there or on the list of absent ones", () => {
      const missing = recorded.metrics.map(({ name }) => name)
        .filter((name) => !families.has(name) && !absent.some((each) => each.name.test(name)));
      assert.deepEqual(missing, []);
    });

    await test.step("types, help, labels and buckets are upstream's", () => {
      const common = recorded.metrics.filter(({ name }) => families.has(name));
      const ours = common.map(({ name }) => comparable(shapeOf(families.get(name)!)));
      assert.deepEqual(ours, common.map(comparable));
    });

    await test.step("what is ours alone has our prefix", () => {
      const known = new Set(recorded.metrics.map(({ name }) => name));
      const foreign = [...families.keys()].filter((name) =>
        !known.has(name) && !ownFamilies.test(name)
      );
      assert.deepEqual(foreign, []);
    });

    await test.step("every metric of the proxy moves", () => {
      const before = parseExposition(proxy.atFirst);
      const still = [...families.values()]
        .filter(({ name }) => /^(kubeproxy|rest_client|process_(cpu|network))/.test(name))
        .filter((family) => !hasMoved(before.get(family.name), family))
        .map(({ name }) => name)
        .filter((name) => !restsHere.test(name));
      assert.deepEqual(still, []);
    });

    await test.step("the pages of the metrics server", async () => {
      for (const [path, expected] of Object.entries(recorded.pages)) {
        const seen = await page(metricsPage + path);
        assert.deepEqual(normalized(seen), normalized(expected));
      }
      const slis = parseExposition((await page(`${metricsPage}/metrics/slis`)).body);
      assert.deepEqual(
        [...slis.values()].map(shapeOf).map(comparable),
        recorded.slis.map(comparable),
      );
    });

    await test.step("the pages of the health server", async () => {
      for (const [path, expected] of Object.entries(recorded.health)) {
        const seen = await page(healthPage + path);
        assert.deepEqual(normalized(seen), normalized(expected), path);
        const head = await fetch(healthPage + path, { method: "HEAD" });
        assert.equal(head.status, expected.status);
        assert.equal(await head.text(), "");
      }
    });
  });
}

/**
 * What waits for a moment only, and what a cluster without opted-out namespaces and without packets
 * out of their window leaves at rest.
 */
const restsHere = /_changes_pending$|^kubeproxy_optout_|_ct_state_invalid_dropped_packets_total$/;

/** The record has its fields in this order too, but who edits it may not know. */
function comparable({ name, type, help, labels, buckets }: FamilyShape): FamilyShape {
  return { name, type, help, labels, ...(buckets ? { buckets } : {}) };
}

/** A family that shows anything but zero has moved: before the proxy started there was none. */
function hasMoved(before: MetricFamily | undefined, { samples }: MetricFamily): boolean {
  return [...before?.samples ?? [], ...samples].some(({ value }) => value !== 0);
}

/** Times, and the folder of this run, differ from run to run; the order of keys says nothing. */
function normalized({ status, headers, body }: Page) {
  const text = body
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, "<time>")
    .replaceAll(/[^"]*\/kubeconfig\.conf/g, "<kubeconfig>");
  const isJson = headers["content-type"] === "application/json";
  return { status, headers, body: isJson ? JSON.parse(text) : text };
}
