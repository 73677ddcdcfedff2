import assert from "node:assert/strict";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { faultOf } from "../../../../lib/writers/nftables/faults.ts";
import { Harness } from "./harness.ts";
import { endpoints, servicePort } from "./samples.ts";

interface Case {
  readonly name: string;
  readonly sample: Partial<ServicePort>;
  readonly fault: string;
}

const pod = { ip: "10.128.0.1", port: 80, isLocal: false };

const cases: readonly Case[] = [
  {
    name: "an endpoint of the other family",
    sample: { clusterEndpoints: endpoints("IPv6", [9, 1]) },
    fault: 'endpoint "fd00:10:128:9::1" is not of family IPv4',
  },
  {
    name: "an endpoint's port",
    sample: { localEndpoints: [{ ...pod, port: 70_000 }] },
    fault: "endpoint port 70000 is out of range",
  },
  {
    name: "a source range of the other family",
    sample: { loadBalancerVIPs: ["203.0.113.1"], sourceRanges: ["fd00::/8"] },
    fault: '"fd00::/8" is not of family IPv4',
  },
  {
    name: "a cluster IP of the other family",
    sample: { clusterIP: "fd00:172:30::1" },
    fault: '"fd00:172:30::1" is not of family IPv4',
  },
  { name: "the port", sample: { port: 0 }, fault: "port 0 is out of range" },
  { name: "the node port", sample: { nodePort: 65_536 }, fault: "node port 65536 is out of range" },
];

for (const { fault, name, sample } of cases) {
  Deno.test(`a Service port that cannot be written keeps no other from being served: ${name}`, async () => {
    const bad = servicePort({ name: "bad", clusterIP: "172.30.0.1", ...sample });
    const good = servicePort({ name: "good", clusterIP: "172.30.0.2", clusterEndpoints: [pod] });
    assert.equal(faultOf(bad, "IPv4"), fault);
    const notice = {
      kind: "service-skipped",
      service: bad.key,
      message: `Cannot program Service port "${bad.key}": ${fault}; it is tried again when it ` +
        "changes and whenever the table is compared as a whole",
    };

    const harness = new Harness();
    harness.arrange([bad, good]);
    assert.deepEqual((await harness.all()).notices, [notice]);
    const table = harness.nftables.dump();
    assert.match(table, /172\.30\.0\.2 \. tcp \. 80 : goto pick-1/);
    assert.equal(await harness.drifted(), false);

    await harness.put(
      servicePort({ name: "bad", clusterIP: "172.30.0.1", clusterEndpoints: [pod] }),
    );
    const { full, notices } = await harness.put(bad);
    assert.deepEqual([full, notices], [false, [notice]]);
    assert.equal(harness.nftables.dump(), table);
    assert.deepEqual(await harness.all(), { full: true, written: 0, notices: [notice] });
  });
}

Deno.test("faultOf() finds nothing wrong with a Service without addresses", () => {
  assert.equal(faultOf(servicePort({ name: "plain" }), "IPv6"), undefined);
});
