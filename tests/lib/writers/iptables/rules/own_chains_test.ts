import assert from "node:assert/strict";
import { ownChains } from "../../../../../lib/writers/iptables/rules/own_chains.ts";
import { contextOf, endpoints, servicePort } from "../samples.ts";

for (const [affinitySeconds, isRemembered] of [[0, false], [1, true], [10_800, true]] as const) {
  Deno.test(`clients of ${affinitySeconds} seconds of affinity ${isRemembered ? "are" : "are not"} remembered`, () => {
    const web = servicePort({
      name: "web",
      clusterIP: "172.30.0.10",
      affinitySeconds,
      clusterEndpoints: endpoints("IPv4", [1, 2], [2, 2]),
    });
    const matches = [...ownChains(web, contextOf("IPv4")).values()].flat()
      .flatMap((rule) => rule.matches);
    const noted = matches.filter(({ kind }) => kind === "recent-set").length;
    const looked = matches.flatMap((each) => each.kind === "recent-check" ? [each.seconds] : []);
    const count = isRemembered ? 2 : 0;
    assert.deepEqual([noted, looked], [count, Array(count).fill(affinitySeconds)]);
  });
}
