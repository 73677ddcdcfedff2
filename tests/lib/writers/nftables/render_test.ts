import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { renderText } from "../../../../lib/writers/nftables/render.ts";
import { assertGolden } from "../golden.ts";
import { everyShape, snapshotOf } from "./samples.ts";

for (const family of ipFamilies) {
  Deno.test(`renderText() prints every shape of Service, ${family}`, async () => {
    const text = renderText(snapshotOf(family, everyShape(family)), { masqueradeBit: 14 });
    await assertGolden(`nftables/every_shape_${family.toLowerCase()}.nft`, text);
  });
}

Deno.test("renderText() keeps destinations beside leftovers of another mode", async () => {
  const snapshot = snapshotOf("IPv4", everyShape("IPv4"), { leftovers: true });
  await assertGolden("nftables/leftovers_ipv4.nft", renderText(snapshot, { masqueradeBit: 14 }));
});

Deno.test("renderText() does not depend on the order of the snapshot", () => {
  const shapes = everyShape("IPv4");
  const text = renderText(snapshotOf("IPv4", shapes), { masqueradeBit: 14 });
  const turned = renderText(snapshotOf("IPv4", shapes.toReversed()), { masqueradeBit: 14 });
  assert.equal(turned, text);
});
