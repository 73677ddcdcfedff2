/** Cases of NP. */
import type { CheckCases } from "../check_cases.ts";
import { known } from "../facts_in_memory.ts";
import {
  chain,
  configuration,
  firewall,
  network,
  nftTable,
  objects,
  processes,
  rule,
  service,
  sockets,
  toPort,
  verdict,
} from "./node_facts.ts";
import { table } from "./table.ts";

const iptables = { move: { from: "iptables" } } as const;
const withPort = objects([service({ nodePort: 30080 })]);
const open = firewall();
const withPorts = objects(
  Array.from({ length: 50 }, (_, at) => service({ nodePort: 30_000 + at })),
);
/** Of which each packet meets all. */
const manyRules = nftTable("inet host", [
  chain("in", Array(9_999).fill(rule(...toPort(1), verdict("drop"))), {}),
]);
const closed = nftTable("ip filter", [chain("INPUT", [], { policy: "drop" })]);
const ownHost = nftTable("inet host", [
  chain("in", [rule(...toPort(10256), verdict("accept"))], { policy: "drop" }),
]);
/** The node's own network, and nobody else. */
const fromNear = [
  { kind: "payload", base: "network", offset: 12, length: 4, into: 1 },
  {
    kind: "bitwise",
    from: 1,
    into: 1,
    mask: Uint8Array.of(255, 255, 255, 0),
    xor: new Uint8Array(4),
  },
  { kind: "cmp", from: 1, op: 0, value: Uint8Array.of(192, 168, 1, 0) },
] as const;
const nearOnly = nftTable("inet host", [
  chain("in", [rule(...fromNear, verdict("accept"))], { policy: "drop" }),
]);
const unclear = nftTable("inet host", [
  chain("in", [rule({ kind: "match-unknown", what: 'match "set"' }, verdict("drop"))], {}),
]);
const legacy = nftTable("ip filter", [chain("INPUT", [], { policy: "drop" })], {
  engine: "legacy",
});
const none = objects([service()]);
const healthy = objects([service({ nodePort: 30080, healthCheckNodePort: 31234 })]);
const files = (path: string, text: string) => known([{ path, text }]);
const noFiles = known([]);

export const nodePortCases: readonly CheckCases[] = [
  table({ id: "NP01", needs: "network" }, [
    ["no NodePort", { objects: none, network: network() }, "pass", [/No Service/]],
    ["one address", { objects: withPort, network: network() }, "pass", [/alone/]],
    [
      "two addresses",
      {
        objects: withPort,
        network: network({
          lo: ["127.0.0.1/8"],
          eth0: ["192.168.1.1/24"],
          eth1: ["10.9.0.1/24"],
          "kube-ipvs0": ["172.30.0.10"],
        }),
      },
      "warn",
      ["They stop answering on 10.9.0.1 (eth1)"],
      {
        advice: [
          'Where clients use these: nodePortAddresses: ["0.0.0.0/0", "::/0"]',
          'Where none does: nodePortAddresses: ["primary"]',
        ],
      },
    ],
    [
      "both families of the Node",
      {
        objects: objects([service({ nodePort: 30080 })], {
          node: {
            namespace: "",
            name: "node-a",
            resourceVersion: "1",
            addresses: [
              { type: "Hostname", address: "node-a" },
              { type: "InternalIP", address: "fd00::1" },
              { type: "InternalIP", address: "192.168.1.1" },
            ],
            podCIDRs: [],
            zone: "",
            taintKeys: [],
            deleting: false,
          },
        }),
        network: network({ eth0: ["192.168.1.1/24", "fd00::1/64"] }),
      },
      "pass",
      ["The node has 192.168.1.1, fd00::1 alone"],
    ],
    [
      "the configuration says which",
      {
        objects: withPort,
        network: network({ eth0: ["192.168.1.1/24"], eth1: ["10.9.0.1/24"] }),
        configuration: configuration({ nodePortAddresses: ["primary"] }),
      },
      "pass",
      ["It is primary"],
    ],
    ["from nftables", { objects: withPort }, "pass", [/Does not apply/], {
      move: { from: "nftables" },
    }],
  ]),
  table({ id: "NP02", needs: "sockets", move: { from: "iptables" } }, [
    ["nobody", { sockets: sockets("tcp 127.0.0.1:80"), hostFiles: noFiles }, "pass", [/Nothing/]],
    [
      "a connection",
      {
        sockets: sockets("tcp 127.0.0.1:4000 > 127.0.0.1:30080"),
        hostFiles: noFiles,
        objects: withPort,
      },
      "fail",
      ["A connection to 127.0.0.1:30080"],
    ],
    [
      "a connection to a port that is no Service's",
      {
        sockets: sockets("tcp 127.0.0.1:4000 > 127.0.0.1:30081"),
        hostFiles: noFiles,
        objects: withPort,
      },
      "pass",
      [],
    ],
    [
      "a registry",
      {
        sockets: sockets(),
        hostFiles: files(
          "/etc/containerd/certs.d/localhost:30500/hosts.toml",
          'server = "http://localhost:30500"',
        ),
      },
      "fail",
      ["/etc/containerd/certs.d/localhost:30500/hosts.toml names localhost:30500"],
    ],
    [
      "the proxy counts them",
      {
        sockets: sockets(),
        hostFiles: noFiles,
        proxyMetrics: known(
          new Map([["kubeproxy_iptables_localhost_nodeports_accepted_packets_total", 7]]),
        ),
      },
      "fail",
      [/^7 packets/],
    ],
    [
      "zarf",
      {
        sockets: sockets(),
        hostFiles: noFiles,
        objects: objects([service({ namespace: "zarf" })]),
      },
      "fail",
      [/zarf/],
    ],
    [
      "from ipvs it never worked",
      { sockets: sockets("tcp 127.0.0.1:4000 > 127.0.0.1:30080"), hostFiles: noFiles },
      "pass",
      [/never worked/, "A connection to 127.0.0.1:30080"],
      { move: { from: "ipvs" } },
    ],
  ]),
  table({ id: "NP03", needs: "firewall" }, [
    ["open", { firewall: open, network: network(), objects: withPort }, "pass", [
      "1 NodePort let in",
    ]],
    [
      "a sample of many ports",
      { firewall: open, network: network(), objects: withPorts },
      "pass",
      ["A sample of 40 of 50 NodePorts is let in"],
    ],
    [
      "a smaller sample where rules are many",
      { firewall: firewall(manyRules), network: network(), objects: withPorts },
      "pass",
      ["A sample of 25 of 50 NodePorts is let in"],
    ],
    [
      "no NodePort",
      { firewall: firewall(closed), network: network(), objects: none },
      "pass",
      ["No Service has one"],
    ],
    [
      "a policy of iptables-nft",
      { firewall: firewall(closed), network: network(), objects: withPort },
      "fail",
      [/TCP 30080 of shop\/web at 192\.168\.1\.1: stopped by table ip filter, chain INPUT, policy drop/],
      { advice: ["iptables-nft -I INPUT -p tcp --dport 30000:32767 -j ACCEPT"] },
    ],
    [
      "a policy of iptables-legacy",
      { firewall: firewall(legacy), network: network(), objects: withPort },
      "fail",
      [/iptables-legacy filter, chain INPUT/],
      { advice: ["iptables-legacy -I INPUT -p tcp --dport 30000:32767 -j ACCEPT"] },
    ],
    [
      "a policy of nf_tables",
      { firewall: firewall(ownHost), network: network(), objects: withPort },
      "fail",
      [],
      { advice: ["nft insert rule inet host in tcp dport 30000-32767 accept"] },
    ],
    [
      "firewalld's table",
      {
        firewall: firewall(
          nftTable("inet firewalld", [chain("filter_INPUT", [], { policy: "drop" })]),
        ),
        network: network(),
        objects: withPort,
      },
      "fail",
      [],
      {
        advice: [
          "firewall-cmd --permanent --add-port=30000-32767/tcp",
          "firewall-cmd --reload",
        ],
      },
    ],
    [
      "the own network alone",
      { firewall: firewall(nearOnly), network: network(), objects: withPort },
      "warn",
      [/own network alone/],
    ],
    [
      "a rule that nobody understands",
      { firewall: firewall(unclear), network: network(), objects: withPort },
      "unknown",
      [/not understood: table inet host, chain in, handle 4: match "set"/],
    ],
    [
      "a table asleep, and that of the proxy",
      {
        firewall: firewall(
          { ...closed, isDormant: true },
          nftTable("ip kube-proxy", [chain("filter-input", [], { policy: "drop" })]),
        ),
        network: network(),
        objects: withPort,
      },
      "pass",
      [],
    ],
    [
      "an accept that goes with the old mode",
      {
        firewall: firewall(
          nftTable("ip filter", [
            chain("INPUT", [rule(verdict("KUBE-NODEPORTS"))], { policy: "drop" }),
            chain("KUBE-NODEPORTS", [rule(verdict("accept"))]),
          ]),
        ),
        network: network(),
        objects: withPort,
      },
      "fail",
      [],
    ],
    [
      "no address",
      {
        firewall: firewall(closed),
        network: network({}),
        objects: objects([service({ nodePort: 30080 })], { node: undefined }),
      },
      "unknown",
      [/own address is not known/],
    ],
  ]),
  table({ id: "NP04", needs: "firewall" }, [
    [
      "open",
      { firewall: open, network: network(), objects: healthy },
      "pass",
      ["31234, 10256 are let in"],
    ],
    [
      "the proxy's own alone",
      { firewall: firewall(ownHost), network: network(), objects: healthy },
      "fail",
      [/31234/],
      { advice: ["nft insert rule inet host in tcp dport 31234 accept"] },
    ],
    [
      "the own network alone",
      { firewall: firewall(nearOnly), network: network(), objects: healthy },
      "warn",
      [],
    ],
    [
      "another port of the proxy",
      {
        firewall: firewall(ownHost),
        network: network(),
        objects: none,
        configuration: configuration({ healthzBindAddress: "0.0.0.0:10257" }),
      },
      "fail",
      [/10257/],
    ],
    [
      "not understood",
      { firewall: firewall(unclear), network: network(), objects: healthy },
      "unknown",
      [],
    ],
  ]),
  table({ id: "NP05", needs: "processes" }, [
    ["neither", { processes: processes([], ["bash"]), hostFiles: noFiles }, "pass", []],
    [
      "firewalld",
      {
        processes: processes([], ["/usr/bin/python3 -s /usr/sbin/firewalld --nofork"]),
        hostFiles: noFiles,
      },
      "warn",
      ["firewalld is active"],
    ],
    [
      "ufw",
      { processes: processes([]), hostFiles: files("/etc/ufw/ufw.conf", "ENABLED=yes\n") },
      "warn",
      ["ufw is active"],
    ],
    [
      "ufw, switched off",
      { processes: processes([]), hostFiles: files("/etc/ufw/ufw.conf", "ENABLED=no\n") },
      "pass",
      [],
    ],
  ]),
  table({ id: "NP06", needs: "firewall", ...iptables }, [
    ["open", { firewall: open, network: network(), objects: withPort }, "pass", []],
    [
      "a policy is no intent",
      { firewall: firewall(closed), network: network(), objects: withPort },
      "pass",
      [],
    ],
    [
      "a rule for the port",
      {
        firewall: firewall(
          nftTable("inet host", [chain("in", [rule(...toPort(30080), verdict("drop"))], {})]),
        ),
        network: network(),
        objects: withPort,
      },
      "warn",
      [/stopped by table inet host, chain in, handle 4/],
    ],
  ]),
];
