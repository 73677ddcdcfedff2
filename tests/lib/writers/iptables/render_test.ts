import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { renderText } from "../../../../lib/writers/iptables/render.ts";
import { assertGolden } from "../golden.ts";
import { contextOf, everyShape, servicePort, settings } from "./samples.ts";

for (const family of ipFamilies) {
  Deno.test(`renderText() prints every shape of Service, ${family}`, async () => {
    const text = await renderText({ context: contextOf(family), services: everyShape(family) });
    await assertGolden(`iptables/every_shape_${family.toLowerCase()}.rules`, text);
  });
}

Deno.test("renderText() with node ports on 127.0.0.1, everything masqueraded, and no comments", async () => {
  const context = contextOf("IPv4", {
    settings: {
      ...settings.IPv4,
      masqueradeAll: true,
      localTraffic: { kind: "interface-prefix", prefix: "veth" },
      nodePortAddresses: { kind: "all" },
    },
    localhostNodePorts: true,
    dropsInvalid: false,
    isLarge: true,
  });
  const text = await renderText({ context, services: everyShape("IPv4") });
  await assertGolden("iptables/large_localhost_ipv4.rules", text);
});

Deno.test("renderText() does not depend on the order of the snapshot", async () => {
  const services = everyShape("IPv4");
  const context = contextOf("IPv4");
  assert.equal(
    await renderText({ context, services: services.toReversed() }),
    await renderText({ context, services }),
  );
});

Deno.test("renderText() prints more rules than a call takes arguments", async () => {
  const clusterEndpoints = Array.from({ length: 40_000 }, (_, index) => ({
    ip: `10.130.${index >> 8}.${index & 255}`,
    port: 80,
    isLocal: false,
  }));
  const large = servicePort({ name: "large", clusterEndpoints });
  const text = await renderText({
    context: contextOf("IPv4", { isLarge: true }),
    services: [large],
  });
  assert.equal(text.match(/-j DNAT/g)?.length, clusterEndpoints.length);
});
