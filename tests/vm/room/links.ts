/** Links and their addresses beside the tool `ip`, on the kernel of a guest. */
import assert from "node:assert/strict";
import { NetlinkLinks } from "../../../lib/kernel/links/netlink_links.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import { checkDummyLink, checkRefusedAddresses } from "../../lib/kernel/links/behaviour_cases.ts";

const links = new NetlinkLinks();

Deno.test("a dummy of the kernel is made, takes addresses and goes with them", () =>
  checkDummyLink(links));

Deno.test("the kernel tells which address is refused", () => checkRefusedAddresses(links));

/** What the tool shows of a link, without its number, its hardware address and made-up identifiers. */
async function shown(name: string): Promise<unknown> {
  const [link] = JSON.parse(await runCommand(["ip", "-j", "-d", "addr", "show", "dev", name]));
  for (const key of ["ifindex", "ifname", "address"]) delete link[key];
  for (const address of link.addr_info) delete address.label;
  return link;
}

Deno.test("link and addresses are what the tool makes", async () => {
  const { index: linkIndex } = links.ensureDummy("ours");
  await runCommand(["ip", "link", "add", "theirs", "type", "dummy"]);
  const addresses = ["10.96.0.1/32", "10.96.0.10/32", "fd00:10:96::1/128"];
  await links.changeAddresses(addresses.map((text) => {
    const [ip, length] = text.split("/");
    return { kind: "add", linkIndex, ip, prefixLength: Number(length) };
  }));
  // Where the other one has the same address, the kernel would mind only in the table of routes.
  const ours = await shown("ours");
  assert.equal(links.remove("ours"), true);
  for (const address of addresses) {
    await runCommand(["ip", "addr", "add", address, "dev", "theirs"]);
  }
  assert.deepEqual(ours, await shown("theirs"));
  assert.equal(links.remove("theirs"), true);
});

Deno.test("an address on a link that is down is reached", async () => {
  const { index: linkIndex } = links.ensureDummy("kube-ipvs0");
  await links.changeAddresses([
    { kind: "add", linkIndex, ip: "10.96.0.1", prefixLength: 32 },
    { kind: "add", linkIndex, ip: "fd00:10:96::1", prefixLength: 128 },
  ]);
  for (const ip of ["10.96.0.1", "fd00:10:96::1"]) {
    assert.match(await runCommand(["ip", "route", "get", ip]), /^local/);
  }
  links.remove("kube-ipvs0");
});

Deno.test("a link of another kind is given as it is", async () => {
  await runCommand(["ip", "link", "add", "kube-ipvs0", "type", "bridge"]);
  assert.equal(links.ensureDummy("kube-ipvs0").kind, "bridge");
  assert.equal(links.remove("kube-ipvs0"), true);
});
