/** What the label saves one proxy; the full size is `scripts/bench opt_out`. */
import assert from "node:assert/strict";
import {
  measureChurn,
  measureStart,
  measureSwitch,
  ReliefCluster,
} from "../bench/opt_out_measurement.ts";
import { OptOutCluster } from "./rig/opt_out_cluster.ts";
import { sumSeries } from "./rig/prometheus.ts";

const EFFECT_MS = 3_000;
const LEAST_RATIO = 8;
const size = { namespaces: 20, optedOut: 18, services: 1_000, endpoints: 10 };
const churn = { perSecond: 100, seconds: 5 };

Deno.test({ name: "what opt-out saves", sanitizeOps: false }, async (test) => {
  await using cluster = await OptOutCluster.create();
  const relief = new ReliefCluster(size);
  await relief.create(cluster.api);
  const whole = await measureStart(cluster);
  const busy = await measureChurn(cluster, relief, { ...churn, proxy: whole.proxy, excluded: [] });
  await whole.proxy.end("SIGTERM");
  await relief.labelAll(cluster, "disabled");
  const { proxy, figures } = await measureStart(cluster);

  // What went over the wire tells nothing here: answers below 128 KiB are not compressed.
  for (const what of ["bytes", "objects", "serverObjects", "rules"] as const) {
    await test.step(`at start: at least 8 times less ${what}`, () => {
      const ratio = whole.figures[what] / figures[what];
      assert.ok(ratio >= LEAST_RATIO, `${whole.figures[what]} and ${figures[what]}`);
    });
  }

  await test.step("the metrics tell how many namespaces are out, and that none is filtered here", async () => {
    const page = await cluster.proxyPage();
    assert.equal(sumSeries(page, "kubeproxy_optout_namespaces"), size.optedOut);
    assert.match(page, /^kubeproxy_optout_filtered_locally 0$/m);
  });

  await test.step("100 changes a second in opted-out namespaces: 0 bytes of events", async () => {
    assert.ok(busy.witnessBytes > 100_000, "without the label the same changes arrive");
    assert.ok(busy.bytes > 100_000, "without the label the same changes arrive");
    const quiet = await measureChurn(cluster, relief, {
      ...churn,
      proxy,
      excluded: relief.outNames,
    });
    assert.equal(quiet.witnessBytes, 0);
    // The proxy asks for bookmarks, one a minute for each watch.
    assert.ok(quiet.objects <= 2 && quiet.bytes <= 2 * 250, JSON.stringify(quiet));
  });

  await test.step("opt-out and opt-in: effective within 3 s, no failed connection elsewhere, no full list", async () => {
    const { outMs, inMs, clusterLists, namespaceLists, objectsForOptIn, load } =
      await measureSwitch(cluster, relief, { index: 0, others: [1] });
    assert.ok(outMs <= EFFECT_MS, `opt-out took ${outMs} ms`);
    assert.ok(inMs <= EFFECT_MS, `opt-in took ${inMs} ms`);
    assert.equal(clusterLists, 0);
    assert.equal(namespaceLists, 2);
    const perNamespace = 2 * size.services / size.namespaces;
    assert.ok(Math.abs(objectsForOptIn - perNamespace) <= 2, `${objectsForOptIn} objects`);
    assert.deepEqual(load.failed, {});
    assert.ok(load.attempts > 100, `${load.attempts} connections`);
  });
});
