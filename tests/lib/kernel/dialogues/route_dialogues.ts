/** Links, addresses and routes. */
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
    name: "routes",
    prepare,
    hold: () => Promise.resolve(new NetlinkLinks().routes()),
  },
];
