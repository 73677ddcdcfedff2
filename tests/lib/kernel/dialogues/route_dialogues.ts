/** Links, addresses and routes. */
import assert from "node:assert/strict";
import { NetlinkLinks } from "../../../../lib/kernel/links/netlink_links.ts";
import type { Dialogue } from "./dialogue.ts";

const prepare = [
  "ip link add v0 type veth peer name v1",
  "ip link set v0 up",
  "ip link set v1 up",
  "ip addr add 192.168.0.2/24 dev v0",
  "ip addr add 192.168.7.1 peer 192.168.7.2/32 dev v1",
  "ip addr add 203.0.113.9/32 dev lo",
  "ip addr add 192.168.8.1/24 scope link dev v1",
  "ip addr add fd00:192:168::2/64 dev v0 nodad",
  "ip route add default via 192.168.0.1",
  "ip route add 10.128.4.0/24 via 192.168.0.3",
  "ip -6 route add fd00:10:128:4::/64 via fd00:192:168::3",
];

/** All talks with the kernel's routing. */
export const routeDialogues: readonly Dialogue[] = [
  {
    name: "links",
    prepare,
    hold: () => Promise.resolve(new NetlinkLinks().links()),
  },
  {
    name: "addresses",
    prepare,
    hold: () => Promise.resolve(new NetlinkLinks().addresses()),
  },
  {
    name: "addresses of a family",
    prepare,
    hold: () =>
      Promise.resolve(
        (["IPv4", "IPv6"] as const).map((family) =>
          new NetlinkLinks().addresses(family).map(({ ip }) => ip)
        ),
      ),
  },
  {
    name: "addresses come and go",
    prepare,
    async hold() {
      const links = new NetlinkLinks();
      const linkIndex = links.find("v0")?.index ?? 0;
      const add = (ip: string, prefixLength: number, kind: "add" | "delete" = "add") => ({
        kind,
        linkIndex,
        ip,
        prefixLength,
      });
      const failures = [
        ...await links.changeAddresses([]),
        ...await links.changeAddresses([
          add("10.96.0.1", 32),
          add("10.96.0.1", 32),
          { ...add("10.96.0.2", 32), linkIndex: 60_000 },
          add("fd00:10:96::1", 128),
          add("10.96.0.3", 32),
        ]),
        ...await links.changeAddresses([
          add("10.96.0.3", 32, "delete"),
          add("10.96.0.9", 32, "delete"),
          { ...add("fd00:10:96::1", 128, "delete"), linkIndex: 60_001 },
        ]),
      ];
      const own = links.addresses().filter(({ linkName }) => linkName === "v0");
      return [
        failures.map(({ change, error }) => [change, error.message]),
        own.map(({ ip, prefixLength }) => `${ip}/${prefixLength}`),
      ];
    },
  },
  {
    name: "links are removed",
    prepare,
    hold() {
      const links = new NetlinkLinks();
      return Promise.resolve([links.remove("v0"), links.remove("v0"), links.find("v1") ?? null]);
    },
  },
  {
    name: "a link that is there is given as it is, and a kernel without dummies says so",
    prepare,
    hold() {
      const links = new NetlinkLinks();
      const { kind } = links.ensureDummy("v0");
      assert.throws(() => links.ensureDummy("kube-ipvs0"), {
        name: "KernelModuleError",
        message: 'Cannot create interface "kube-ipvs0": the kernel module "dummy" is not loaded; ' +
          'run "modprobe dummy" on the node, or install the kernel\'s modules there',
      });
      return Promise.resolve(kind);
    },
  },
  {
    name: "routes",
    prepare,
    hold: () => Promise.resolve(new NetlinkLinks().routes()),
  },
  {
    name: "rules that choose among tables of routes",
    prepare: [
      "ip rule add from 172.30.0.10 to 10.0.0.0/8 iif lo lookup 1000 priority 77",
      "ip -6 rule add to fd00:10:96::1 oif lo lookup 7 priority 78",
      "ip rule add fwmark 1 unreachable priority 79",
    ],
    hold() {
      const rules = new NetlinkLinks().routingRules();
      const line = { inInterface: "", outInterface: "" };
      assert.deepEqual(rules.filter(({ priority }) => priority >= 77 && priority < 80), [
        {
          ...line,
          family: "IPv4",
          priority: 77,
          from: "172.30.0.10/32",
          to: "10.0.0.0/8",
          inInterface: "lo",
          table: 1000,
        },
        { ...line, family: "IPv4", priority: 79, from: undefined, to: undefined, table: 0 },
        {
          ...line,
          family: "IPv6",
          priority: 78,
          from: undefined,
          to: "fd00:10:96::1/128",
          outInterface: "lo",
          table: 7,
        },
      ]);
      return Promise.resolve(rules);
    },
  },
];
