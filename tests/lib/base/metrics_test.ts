import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";

Deno.test("expose() sorts families, and leaves out those without series", async () => {
  const registry = new MetricsRegistry();
  const requests = registry.counter({ name: "b_total", help: "B.", labels: ["code"] });
  registry.counter({ name: "c_total", help: "C.", labels: ["code"] });
  registry.gauge({ name: "a", help: "A\nand more.", stability: "none" }).set(2);
  requests.add(1, { code: "x\n# HELP y" });
  assert.equal(
    await registry.expose(),
    `# HELP a A\\nand more.
# TYPE a gauge
a 2

# HELP b_total [ALPHA] B.
# TYPE b_total counter
b_total{code="x\\n# HELP y"} 1

`.replaceAll("\n\n", "\n"),
  );
  assert.equal(await new MetricsRegistry().expose(), "");
});

Deno.test("what several families show is read once for each page", async () => {
  const registry = new MetricsRegistry();
  let reads = 0;
  let scrapes = 0;
  const usage = registry.perPage(() => ++reads);
  for (const name of ["a", "b"]) {
    const read = () => {
      scrapes++;
      return [{ value: usage() }];
    };
    registry.scraped({ name, help: "", type: "gauge", read });
  }
  assert.match(await registry.expose(), /^a 1$[^]*^b 1$/m);
  assert.match(await registry.expose(), /^a 2$[^]*^b 2$/m);
  assert.equal(scrapes, 4);
});

Deno.test("counters add, gauges hold, histograms sort into buckets, and all forget", async () => {
  const registry = new MetricsRegistry();
  const counter = registry.counter({ name: "c_total", help: "C.", labels: ["a"] });
  const gauge = registry.gauge({ name: "g", help: "G.", labels: ["a"], stability: "STABLE" });
  const histogram = registry.histogram({ name: "h", help: "H.", buckets: [1, 5] });
  counter.add(2, { a: "x" });
  counter.add(3, { a: "x" });
  gauge.set(7, { a: "x" });
  gauge.set(4, { a: "x" });
  for (const value of [1, 2, 9]) histogram.observe(value);
  const page = await registry.expose();
  assert.match(page, /^# HELP g \[STABLE\] G\.$/m);
  const samples = page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.deepEqual(samples, [
    'c_total{a="x"} 5',
    'g{a="x"} 4',
    'h_bucket{le="1"} 1',
    'h_bucket{le="5"} 2',
    'h_bucket{le="+Inf"} 3',
    "h_sum 12",
    "h_count 3",
  ]);
  assert.deepEqual(registry.names(), ["c_total", "g", "h"]);
  assert.deepEqual([...registry.stabilities], [["ALPHA", 2], ["STABLE", 1]]);
  registry.reset();
  assert.doesNotMatch(await registry.expose(), /^(c_total|g)\{/m);
});

Deno.test("what is scraped is shown as it is now, counters too", async () => {
  const registry = new MetricsRegistry();
  let values = [{ labels: { a: "x" }, value: 5 }, { labels: { a: "y" }, value: 6 }];
  for (const type of ["counter", "gauge"] as const) {
    registry.scraped({ name: type, help: "", labels: ["a"], type, read: () => values });
  }
  await registry.expose();
  values = [{ labels: { a: "x" }, value: 7 }];
  const samples = (await registry.expose()).split("\n").filter((line) => /^[cg]/.test(line));
  assert.deepEqual(samples, ['counter{a="x"} 7', 'gauge{a="x"} 7']);
});
