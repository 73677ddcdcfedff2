import assert from "node:assert/strict";
import { Harness } from "./harness.ts";
import { servicePort } from "./samples.ts";

const pod = { ip: "10.128.0.1", port: 80, isLocal: false };

Deno.test("a Service port that cannot be written keeps no other from being served", async () => {
  const bad = servicePort({ name: "bad", clusterIP: "172.30.0.1", nodePort: 65_536 });
  const good = servicePort({ name: "good", clusterIP: "172.30.0.2", clusterEndpoints: [pod] });
  const notice = {
    service: bad.key,
    message: `Cannot program Service port "${bad.key}": node port 65536 is out of range; it is ` +
      "tried again when it changes and whenever the table is compared as a whole",
  };

  const harness = new Harness();
  harness.arrange([bad, good]);
  assert.deepEqual((await harness.all()).notices, [notice]);
  const table = harness.nftables.dump();
  assert.match(table, /172\.30\.0\.2 \. tcp \. 80 : goto pick-1/);
  assert.equal(await harness.drifted(), false);

  await harness.put(servicePort({ ...bad, nodePort: 0, clusterEndpoints: [pod] }));
  const { full, notices } = await harness.put(bad);
  assert.deepEqual([full, notices], [false, [notice]]);
  assert.equal(harness.nftables.dump(), table);
  assert.deepEqual(await harness.all(), { full: true, written: 0, notices: [notice] });
});
