import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { ipvsConfig } from "../../../../lib/writers/ipvs/config.ts";
import { createRuntime } from "../../../../lib/writers/ipvs/mod.ts";
import { assertGolden } from "../golden.ts";
import { everyShape, snapshotOf } from "./samples.ts";

const { defaults } = ipvsConfig;

for (const family of ipFamilies) {
  Deno.test(`--dry-run prints every shape of Service, ${family}`, async () => {
    const text = await createRuntime(defaults).renderText(snapshotOf(family, everyShape(family)));
    await assertGolden(`ipvs/every_shape_${family.toLowerCase()}.txt`, text);
  });
}

Deno.test("--dry-run with another scheduler, everything masqueraded, and node ports on all addresses", async () => {
  const snapshot = snapshotOf("IPv6", everyShape("IPv6"), {
    masqueradeAll: true,
    nodePortAddresses: {
      kind: "all",
      addresses: [
        { ip: "::1", isLoopback: true },
        { ip: "fd00:192:168::1", isLoopback: false },
        { ip: "fe80::1", isLoopback: false },
      ],
    },
  });
  const runtime = createRuntime({ ...defaults, scheduler: "mh", masqueradeBit: 31 });
  await assertGolden("ipvs/mh_all_ipv6.txt", await runtime.renderText(snapshot));
});

Deno.test("--dry-run where nobody knows which traffic is local, and where there is no address for node ports", async () => {
  const snapshot = snapshotOf("IPv4", everyShape("IPv4"), {
    localTraffic: { kind: "unknown" },
    nodePortAddresses: { kind: "listed", addresses: [] },
  });
  const text = await createRuntime(defaults).renderText(snapshot);
  await assertGolden("ipvs/no_node_ports_ipv4.txt", text);
});

Deno.test("--dry-run does not depend on the order of the snapshot", () => {
  const services = everyShape("IPv4");
  const runtime = createRuntime(defaults);
  assert.equal(
    runtime.renderText(snapshotOf("IPv4", services.toReversed())),
    runtime.renderText(snapshotOf("IPv4", services)),
  );
});
