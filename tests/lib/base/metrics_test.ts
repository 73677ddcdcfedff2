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
