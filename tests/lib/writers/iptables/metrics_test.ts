import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../../lib/base/metrics.ts";
import { registerMetrics } from "../../../../lib/writers/iptables/metrics.ts";
import { nodePortDispatch } from "../../../../lib/writers/iptables/rules/static_chains.ts";
import { staticChains } from "../../../../lib/writers/iptables/rules/static_chains.ts";
import { contextOf } from "./samples.ts";

Deno.test("the metrics count the rules that there always are, by table", async () => {
  const registry = new MetricsRegistry();
  const metrics = registerMetrics(registry, () => undefined);
  const context = contextOf("IPv4");
  metrics.rules("IPv4", {
    context,
    counts: { nat: 100, filter: 7 },
    written: { nat: 0, filter: 0 },
  });
  const page = await registry.expose();
  const total = (table: string) =>
    Number(new RegExp(`_iptables_total\\{.*table="${table}".*\\} (\\d+)$`, "m").exec(page)?.[1]);
  const fixed = staticChains(context).flatMap(({ rules, table }) => rules.map(() => table));
  assert.ok(fixed.includes("filter") && fixed.includes("nat"));
  assert.equal(total("filter"), 7 + fixed.filter((table) => table === "filter").length);
  const nat = fixed.filter((table) => table === "nat").length;
  assert.equal(total("nat"), 100 + nat + nodePortDispatch(context).length);
});
