/** Cases of IPV. */
import { fakeRoute } from "../../../../lib/kernel/links/fake_links.ts";
import type { FactValues } from "../../../../lib/doctor/facts/fact_values.ts";
import { internalDefaults } from "../../../../lib/config/internal.ts";
import type { CheckCases } from "../check_cases.ts";
import { known } from "../facts_in_memory.ts";
import {
  absent,
  chain,
  configuration,
  firewall,
  network,
  nftTable,
  objects,
  routingRule,
  rule,
  service,
  sockets,
  software,
  workload,
} from "./node_facts.ts";
import { table } from "./table.ts";

type Servers = FactValues["ipvs"]["servers"];

const upstream = { move: { toProxy: "upstream" } } as const;

function server(rest: Partial<Servers[number]> = {}): Servers[number] {
  return {
    protocol: "tcp",
    address: "172.30.0.10",
    port: 80,
    scheduler: "rr",
    persistentSeconds: 0,
    destinations: 1,
    ...rest,
  };
}

function ipvs(servers: Servers, rest: Partial<FactValues["ipvs"]> = {}) {
  return known({ servers, markServers: 0, connections: [], ...rest });
}

const shop = objects([service({ nodePort: 30080, externalIPs: ["198.51.100.7"] })]);
const node = network({ eth0: ["192.168.1.1/24"], "kube-ipvs0": ["172.30.0.10"] });
const settingsOf = (rest: Partial<ReturnType<typeof internalDefaults>["ipvs"]>) =>
  configuration({ ipvs: { ...internalDefaults().ipvs, ...rest } });
const live = {
  protocol: "tcp",
  address: "172.30.0.10",
  port: 80,
  established: 3,
  soonestExpirySeconds: 870,
} as const;

export const ipvsCases: readonly CheckCases[] = [
  table({ id: "IPV01", needs: "ipvs" }, [
    ["not loaded", { ipvs: absent, objects: shop, network: node }, "pass", ["It is not loaded"]],
    [
      "Services alone",
      {
        ipvs: ipvs([
          server(),
          server({ address: "198.51.100.7" }),
          server({ address: "192.168.1.1", port: 30080 }),
        ]),
        objects: shop,
        network: node,
      },
      "pass",
      [/Every virtual server/],
    ],
    [
      "somebody else's",
      { ipvs: ipvs([server({ address: "10.9.9.9" })]), objects: shop, network: node },
      "warn",
      ["TCP 10.9.9.9:80"],
    ],
    [
      "a port of the node that is no NodePort",
      { ipvs: ipvs([server({ address: "192.168.1.1" })]), objects: shop, network: node },
      "warn",
      ["TCP 192.168.1.1:80"],
    ],
    [
      "somebody else's, to stock kube-proxy",
      { ipvs: ipvs([], { markServers: 2 }), objects: shop, network: node },
      "fail",
      ["2 servers by firewall mark"],
      {
        ...upstream,
        advice: [
          "Do not run the clean-up of stock kube-proxy: it flushes these too.",
          "kube-proxy cleanup --mode ipvs",
        ],
      },
    ],
  ]),
  table({ id: "IPV02", needs: "ipvs" }, [
    ["not loaded", { ipvs: absent }, "pass", []],
    ["none", { ipvs: ipvs([server()]) }, "pass", [/no established/]],
    [
      "some, most first",
      {
        ipvs: ipvs([server()], {
          connections: [{ ...live, port: 81, established: 1, soonestExpirySeconds: 412 }, live],
        }),
      },
      "warn",
      [
        "4 established connections",
        "TCP 172.30.0.10:80: 3",
        "TCP 172.30.0.10:81: 1",
        /^The one that was silent for longest is forgotten in 412 s,/,
      ],
      {
        advice: [
          "Start nftables mode beside ipvs, and then let them end:",
          "kube-proxy cleanup --mode ipvs --drain",
        ],
      },
    ],
  ]),
  table({ id: "IPV03", needs: "ipvs" }, [
    ["rr", { ipvs: ipvs([server()]) }, "pass", ["Random from now on"]],
    ["lc", { ipvs: ipvs([server({ scheduler: "lc" })]) }, "warn", [/count no longer/]],
    ["not loaded", { ipvs: absent }, "pass", ["Random from now on"]],
    ["configured", { ipvs: ipvs([]), configuration: settingsOf({ scheduler: "sed" }) }, "warn", []],
    [
      "sh, by which clients stay",
      { ipvs: ipvs([server({ scheduler: "sh" })]) },
      "fail",
      ["TCP 172.30.0.10:80"],
    ],
    [
      "sh, where clients stay anyway",
      { ipvs: ipvs([server({ scheduler: "sh", persistentSeconds: 60 })]) },
      "warn",
      [],
    ],
  ]),
  table({ id: "IPV04", needs: "configuration" }, [
    ["none", { configuration: absent }, "pass", ["It is empty"]],
    [
      "some",
      { configuration: settingsOf({ excludeCIDRs: ["10.9.0.0/16"] }) },
      "warn",
      ["10.9.0.0/16"],
      {
        advice: [
          "Give the configuration to the cleanup, which spares them then:",
          "kube-proxy cleanup --mode ipvs --config /etc/proxy.yaml",
        ],
      },
    ],
  ]),
  table({ id: "IPV05", needs: "configuration" }, [
    ["none", { configuration: configuration() }, "pass", ["None is set"]],
    [
      "two",
      { configuration: settingsOf({ tcpTimeoutMs: 900_000, udpTimeoutMs: 30_000 }) },
      "warn",
      ["ipvs.tcpTimeout is 900s, and has no effect"],
      {
        advice: ["conntrack.tcpEstablishedTimeout: 900s", "conntrack.udpStreamTimeout: 30s"],
      },
    ],
  ]),
  table({ id: "IPV06", needs: "sockets" }, [
    ["all addresses", { sockets: sockets("tcp 0.0.0.0:80"), network: node }, "pass", []],
    [
      "an address of a Service",
      { sockets: sockets("tcp 172.30.0.10:9000"), network: node },
      "fail",
      ["TCP 172.30.0.10:9000 is bound to an address of kube-ipvs0"],
    ],
    [
      "a connection from it is no listener",
      { sockets: sockets("tcp 172.30.0.10:9000 > 10.0.0.1:80"), network: node },
      "pass",
      [],
    ],
  ]),
  table({ id: "IPV07", needs: "network" }, [
    ["none", { network: node, firewall: firewall(), objects: shop }, "pass", []],
    [
      "a route",
      {
        network: network({ "kube-ipvs0": [] }, [
          fakeRoute("10.9.0.0/16", { linkIndex: 1, table: 100 }),
          fakeRoute("fe80::/64", { linkIndex: 1 }),
          fakeRoute("172.30.0.10/32", { linkIndex: 1, table: 255 }),
        ]),
        firewall: firewall(),
      },
      "warn",
      ["route to 10.9.0.0/16 in table 100"],
    ],
    [
      "routes to and from an address",
      {
        network: network({ eth0: [] }, [
          fakeRoute("172.30.0.10/32"),
          fakeRoute("10.1.0.0/16", { source: "172.30.0.10" }),
          fakeRoute("172.30.0.0/16"),
          fakeRoute("10.2.0.0/16", { source: "192.168.1.1" }),
        ]),
        firewall: firewall(),
        objects: shop,
      },
      "warn",
      [
        "route to 172.30.0.10/32 in table 254",
        "route to 10.1.0.0/16 in table 254, from 172.30.0.10",
      ],
    ],
    [
      "ip rule",
      {
        network: network({ eth0: [] }, [], [
          routingRule(100, { from: "172.30.0.10/32", table: 7 }),
          routingRule(101, { to: "172.30.0.10/32", inInterface: "eth1", table: 8 }),
          routingRule(102, { outInterface: "kube-ipvs0", table: 9 }),
          routingRule(103, { from: "172.30.0.0/16", inInterface: "eth0" }),
          routingRule(32_766),
        ]),
        firewall: firewall(),
        objects: shop,
      },
      "warn",
      [
        "ip rule 100: from 172.30.0.10/32 lookup 7",
        "ip rule 101: from all to 172.30.0.10/32 iif eth1 lookup 8",
        "ip rule 102: from all oif kube-ipvs0 lookup 9",
      ],
    ],
    [
      "nothing but what every node has",
      {
        network: network({ eth0: [] }, [fakeRoute("172.30.0.0/16")], [routingRule(32_766)]),
        firewall: firewall(),
        objects: shop,
      },
      "pass",
      [],
    ],
    [
      "an external address that is the node's own as well",
      {
        network: network(
          { eth0: ["192.168.1.1"], "kube-ipvs0": ["192.168.1.1"] },
          [fakeRoute("10.2.0.0/16", { linkIndex: 1, source: "192.168.1.1" })],
          [routingRule(100, { from: "192.168.1.1/32" })],
        ),
        firewall: firewall(),
        objects: objects([service({ externalIPs: ["192.168.1.1"] })]),
      },
      "pass",
      [],
    ],
    [
      "a translation of sources by iptables",
      {
        network: node,
        objects: shop,
        firewall: firewall(
          nftTable("ip nat", [
            chain("POSTROUTING", [
              rule({
                kind: "translate",
                what: "SNAT",
                to: {
                  first: Uint8Array.of(172, 30, 0, 10),
                  last: Uint8Array.of(172, 30, 0, 10),
                },
              }),
            ]),
            chain("OUTPUT", [rule({ kind: "translate", what: "MASQUERADE" })]),
          ]),
        ),
      },
      "warn",
      ["table ip nat, chain POSTROUTING, handle 4"],
    ],
    [
      "a rule for the interface, and one for an address",
      {
        network: node,
        objects: shop,
        firewall: firewall(
          nftTable("ip host", [
            chain("a", [
              rule({
                kind: "cmp",
                from: 1,
                op: 0,
                value: new TextEncoder().encode("kube-ipvs0\0"),
              }),
            ]),
            chain("b", [
              rule({ kind: "immediate", into: 1, value: Uint8Array.of(172, 30, 0, 10) }),
            ]),
          ]),
        ),
      },
      "warn",
      ["table ip host, chain a, handle 4", "table ip host, chain b, handle 4"],
    ],
    [
      "rules of the old mode itself",
      {
        network: node,
        objects: shop,
        firewall: firewall(
          nftTable("ip nat", [chain("KUBE-POSTROUTING", [
            rule({ kind: "immediate", into: 1, value: Uint8Array.of(172, 30, 0, 10) }),
          ])]),
        ),
      },
      "pass",
      [],
    ],
  ]),
  table({ id: "IPV08", needs: "ipsets" }, [
    ["not loaded", { ipsets: absent }, "pass", ["It is not loaded"]],
    ["room", { ipsets: known([{ name: "KUBE-CLUSTER-IP", members: 10 }]) }, "pass", [/No set/]],
    [
      "nearly full",
      {
        ipsets: known([{ name: "KUBE-LOOP-BACK", members: 60_000 }, {
          name: "x",
          members: 65_000,
        }]),
      },
      "pass",
      ["The limit goes away", "KUBE-LOOP-BACK has 60000 of 65536 members"],
    ],
  ]),
  table({ id: "IPV09", needs: "hostFiles" }, [
    ["none", { hostFiles: known([]), objects: shop }, "pass", []],
    [
      "a prober",
      {
        hostFiles: known([{
          path: "/etc/prometheus/targets.yml",
          text: "- 172.30.0.10\n- 172.30.0.100",
        }]),
        objects: shop,
      },
      "warn",
      ["/etc/prometheus/targets.yml names 172.30.0.10"],
    ],
    [
      "another kind of file",
      {
        hostFiles: known([{ path: "/etc/docker/daemon.json", text: "172.30.0.10" }]),
        objects: shop,
      },
      "pass",
      [],
    ],
  ]),
  table({ id: "IPV10", needs: "configuration" }, [
    ["off", { configuration: configuration() }, "pass", ["Not set"]],
    [
      "on",
      {
        configuration: settingsOf({ strictARP: true }),
        software: software([workload("speaker", { namespace: "metallb-system" })]),
      },
      "pass",
      [/not needed any more/, "Was asked for by metallb-system/speaker"],
    ],
  ]),
  table({ id: "IPV11", needs: "objects" }, [
    ["none", { objects: shop, network: node }, "pass", []],
    ["no cluster", { objects: absent, network: node }, "pass", []],
    [
      "an external address",
      { objects: objects([service({ externalIPs: ["192.168.1.1"] })]), network: node },
      "warn",
      ["shop/web has 192.168.1.1"],
    ],
    [
      "an address of a load balancer",
      {
        objects: objects([service({ ingress: [{ ip: "192.168.1.1", ipMode: "VIP" }] })]),
        network: network({}),
      },
      "warn",
      ["shop/web has 192.168.1.1"],
    ],
  ]),
];
