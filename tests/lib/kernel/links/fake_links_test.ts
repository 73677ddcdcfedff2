import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeLinks } from "../../../../lib/kernel/links/fake_links.ts";
import { checkDummyLink, checkPreferredSources, checkRefusedAddresses } from "./behaviour_cases.ts";

Deno.test("a link of the fake is made, takes addresses and goes with them", () =>
  checkDummyLink(new FakeLinks()));

Deno.test("sources are preferred in the fake as in the kernel", () => {
  const links = new FakeLinks();
  return checkPreferredSources(links, (ip) => links.sourceOf(ip));
});

Deno.test("the fake tells which address is refused", () => checkRefusedAddresses(new FakeLinks()));

Deno.test("a link of another kind is given as it is, and addresses are refused as the fake is told", async () => {
  const bridge = { index: 7, name: "kube-ipvs0", kind: "bridge", up: true };
  const links = new FakeLinks({ links: [bridge] });
  assert.deepEqual(links.ensureDummy("kube-ipvs0"), bridge);
  assert.equal(links.ensureDummy("other").index, 8);
  links.refuse(() => Errno.ENOBUFS);
  const change = { kind: "add", linkIndex: 7, ip: "fd00::1", prefixLength: 128 } as const;
  const [{ error }] = await links.changeAddresses([change]);
  assert.equal(error.message, 'Cannot add address "fd00::1/128": no buffer space (ENOBUFS)');
  assert.deepEqual(links.addresses(), []);
});
