/** Links and their addresses beside the tool `ip`, on the kernel of a guest. */
import assert from "node:assert/strict";
import { NetlinkLinks } from "../../../lib/kernel/links/netlink_links.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import {
  checkDummyLink,
  checkPreferredSources,
  checkRefusedAddresses,
  routeTo,
} from "../../lib/kernel/links/behaviour_cases.ts";

const links = new NetlinkLinks();

Deno.test("a dummy of the kernel is made, takes addresses and goes with them", () =>
  checkDummyLink(links));

Deno.test("sources are preferred as in the fake", () =>
  checkPreferredSources(links, (ip) => routeTo(links, ip)));

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

/** All routes to an address of this machine that tell the address. */
async function localRoutes(ip: string): Promise<string> {
  const family = ip.includes(":") ? "-6" : "-4";
  return await runCommand(["ip", family, "route", "show", "table", "local", ip]);
}

for (const isWhole of [false, true]) {
  const what = isWhole ? "link" : "address";
  Deno.test(`programs reach an address from the source that is preferred, until the ${what} goes`, async () => {
    await runCommand(["ip", "link", "add", "eth9", "type", "dummy"]);
    await runCommand(["ip", "link", "set", "eth9", "up"]);
    const { index: linkIndex } = links.ensureDummy("kube-ipvs0");
    try {
      const own = [{ ip: "10.96.0.1", source: "192.168.9.1" }, {
        ip: "fd00:10:96::1",
        source: "fd00:9::1",
      }];
      for (const { ip, source } of own) {
        const nodad = ip.includes(":") ? ["nodad"] : [];
        await runCommand(["ip", "addr", "add", source, "dev", "eth9", ...nodad]);
      }
      const lengthOf = (ip: string) => ip.includes(":") ? 128 : 32;
      const changes = (kind: "add" | "delete") =>
        own.map(({ ip }) => ({ kind, linkIndex, ip, prefixLength: lengthOf(ip) }));
      assert.deepEqual(await links.changeAddresses(changes("add")), []);
      const sourceTo = async (hostname: string) => {
        using listener = Deno.listen({ hostname, port: 8099 });
        using client = await Deno.connect({ hostname, port: 8099 });
        using _server = await listener.accept();
        return client.localAddr.transport === "tcp" ? client.localAddr.hostname : "";
      };
      for (const { ip } of own) assert.equal(await sourceTo(ip), ip);
      const preferred = own.map((each) => ({ ...each, linkIndex }));
      // A second time changes nothing.
      for (let time = 0; time < 2; time++) {
        assert.deepEqual(await links.preferSources(preferred), []);
        for (const { ip, source } of own) assert.equal(await sourceTo(ip), source);
      }
      if (isWhole) links.remove("kube-ipvs0");
      else assert.deepEqual(await links.changeAddresses(changes("delete")), []);
      for (const { ip } of own) assert.equal(await localRoutes(ip), "");
      // And the next time it is as at first.
      if (isWhole) return;
      assert.deepEqual(await links.changeAddresses(changes("add")), []);
      for (const { ip } of own) assert.equal(await sourceTo(ip), ip);
    } finally {
      links.remove("kube-ipvs0");
      await runCommand(["ip", "link", "delete", "eth9"]);
    }
  });
}

Deno.test("a source that is no address of this machine is refused with both named", async () => {
  const { index: linkIndex } = links.ensureDummy("kube-ipvs0");
  for (const [ip, source] of [["10.96.0.1", "192.0.2.1"], ["fd00:10:96::1", "2001:db8::1"]]) {
    const prefixLength = ip.includes(":") ? 128 : 32;
    await links.changeAddresses([{ kind: "add", linkIndex, ip, prefixLength }]);
    const [{ change, error }] = await links.preferSources([{ linkIndex, ip, source }]);
    assert.equal(change, 0);
    assert.ok(
      error.message.startsWith(
        `Cannot have programs of this machine reach "${ip}" from "${source}": `,
      ),
      error.message,
    );
    assert.match(await localRoutes(ip), /dev kube-ipvs0/);
  }
  links.remove("kube-ipvs0");
});
