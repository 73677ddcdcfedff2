import assert from "node:assert/strict";
import { changeAddress } from "../../../../lib/kernel/links/change_address.ts";
import { FakeLinks } from "../../../../lib/kernel/links/fake_links.ts";

Deno.test("changeAddress() puts an address on a link and takes it away, alone in its network", async () => {
  const links = new FakeLinks();
  const { index: linkIndex } = links.ensureDummy("scratch");
  const listed = () => links.addresses().map(({ ip, prefixLength }) => `${ip}/${prefixLength}`);
  await changeAddress(links, { kind: "add", ip: "192.0.2.1", family: "IPv4", linkIndex });
  await changeAddress(links, { kind: "add", ip: "2001:db8::1", family: "IPv6", linkIndex });
  assert.deepEqual(listed().sort(), ["192.0.2.1/32", "2001:db8::1/128"]);
  await changeAddress(links, { kind: "delete", ip: "192.0.2.1", family: "IPv4", linkIndex });
  assert.deepEqual(listed(), ["2001:db8::1/128"]);
});

Deno.test("changeAddress() throws what the kernel refused", async () => {
  const change = { kind: "add", ip: "192.0.2.1", family: "IPv4", linkIndex: 99 } as const;
  await assert.rejects(changeAddress(new FakeLinks(), change), {
    name: "NetlinkError",
    message: /192\.0\.2\.1/,
  });
});
