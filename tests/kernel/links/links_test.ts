import assert from "node:assert/strict";
import { NetlinkLinks } from "../../../lib/kernel/links/netlink_links.ts";
import { type OwnNamespace, withOwnNamespace } from "../rig/own_namespace.ts";

interface IpAddr {
  readonly ifindex: number;
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly addr_info: readonly {
    readonly family: string;
    readonly local: string;
    readonly prefixlen: number;
    readonly scope: string;
  }[];
}

async function setUp({ name, run }: OwnNamespace): Promise<void> {
  const commands = [
    "link add v0 type veth peer name v1",
    "link set v0 up",
    "link set v1 up",
    "addr add 192.168.0.2/24 dev v0",
    "addr add 192.168.7.1 peer 192.168.7.2/32 dev v1",
    "addr add 203.0.113.9/32 dev lo",
    "addr add 192.168.8.1/24 scope link dev v1",
    "addr add fd00:192:168::2/64 dev v0 nodad",
    "route add default via 192.168.0.1",
    "route add 10.128.4.0/24 via 192.168.0.3",
    "-6 route add fd00:10:128:4::/64 via fd00:192:168::3",
  ];
  for (const command of commands) await run("ip", ...command.split(" "));
  assert.ok(name);
}

Deno.test("NetlinkLinks lists what `ip -j addr` lists", () =>
  withOwnNamespace(async (namespace) => {
    await setUp(namespace);
    const links = new NetlinkLinks();
    const oracle: readonly IpAddr[] = JSON.parse(await namespace.run("ip", "-j", "addr"));
    const addresses = namespace.inside(() => links.addresses());
    assert.deepEqual(
      addresses.map(({ family, ip, linkIndex, linkName, prefixLength, scope }) =>
        `${linkIndex} ${linkName} ${family} ${ip}/${prefixLength} ${scope}`
      ).sort(),
      oracle.flatMap(({ addr_info, ifindex, ifname }) =>
        addr_info.map(({ family, local, prefixlen, scope }) =>
          `${ifindex} ${ifname} ${
            family === "inet" ? "IPv4" : "IPv6"
          } ${local}/${prefixlen} ${scope}`
        )
      ).sort(),
    );
    assert.ok(addresses.length >= 7, `${addresses.length} addresses`);
    assert.deepEqual(
      namespace.inside(() => links.links()).map(({ index, name, up }) => `${index} ${name} ${up}`),
      oracle.map(({ flags, ifindex, ifname }) => `${ifindex} ${ifname} ${flags.includes("UP")}`)
        .sort(),
    );
  }));

Deno.test("NetlinkLinks lists one family when asked to", () =>
  withOwnNamespace(async (namespace) => {
    await setUp(namespace);
    const links = new NetlinkLinks();
    for (const family of ["IPv4", "IPv6"] as const) {
      const found = namespace.inside(() => links.addresses(family));
      assert.ok(found.length > 0);
      assert.ok(found.every((address) => address.family === family));
    }
  }));

Deno.test("NetlinkLinks knows what made a link, and its routes", () =>
  withOwnNamespace(async (namespace) => {
    await setUp(namespace);
    const links = new NetlinkLinks();
    const kinds = namespace.inside(() => links.links()).map(({ kind, name }) => `${name}:${kind}`);
    assert.deepEqual(kinds, ["lo:", "v1:veth", "v0:veth"]);
    const main = namespace.inside(() => links.routes()).filter(({ table }) => table === 254);
    const texts = main.map(({ destination, gateway }) => `${destination} ${gateway ?? "-"}`);
    for (
      const wanted of [
        "0.0.0.0/0 192.168.0.1",
        "10.128.4.0/24 192.168.0.3",
        "192.168.0.0/24 -",
        "fd00:10:128:4::/64 fd00:192:168::3",
      ]
    ) assert.ok(texts.includes(wanted), `${wanted} is not among ${texts.join(", ")}`);
  }));

Deno.test("NetlinkLinks hears of every address that comes and goes", () =>
  withOwnNamespace(async (namespace) => {
    await setUp(namespace);
    const links = new NetlinkLinks();
    const stop = new AbortController();
    const changes = links.watchAddresses(stop.signal)[Symbol.asyncIterator]();
    await namespace.inside(() => changes.next());
    const deadline = setTimeout(() => stop.abort(), 10_000);
    try {
      const has = (ip: string) =>
        namespace.inside(() => links.addresses()).some((address) => address.ip === ip);
      const hear = async (ip: string, present: boolean) => {
        while (has(ip) !== present) {
          const { done } = await changes.next();
          assert.ok(!done, `no word of ${ip} for 10 s`);
        }
      };
      for (const ip of ["192.168.0.77", "fd00:192:168::77"]) {
        const options = ip.includes(":") ? ["nodad"] : [];
        const heard = hear(ip, true);
        await namespace.run("ip", "addr", "add", `${ip}/24`, "dev", "v0", ...options);
        await heard;
        const gone = hear(ip, false);
        await namespace.run("ip", "addr", "del", `${ip}/24`, "dev", "v0");
        await gone;
      }
    } finally {
      clearTimeout(deadline);
      stop.abort();
    }
  }));

Deno.test("NetlinkLinks stops waiting for changes when told, though nothing ever changes", () =>
  withOwnNamespace(async (namespace) => {
    const stop = new AbortController();
    const changes = new NetlinkLinks().watchAddresses(stop.signal)[Symbol.asyncIterator]();
    await namespace.inside(() => changes.next());
    const parked = changes.next();
    stop.abort();
    assert.equal(await within(5000, parked.then(({ done }) => done)), true);
  }));

/** The promise's value, or a rejection when it takes longer. */
async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`no end within ${milliseconds} ms`)),
    milliseconds,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
