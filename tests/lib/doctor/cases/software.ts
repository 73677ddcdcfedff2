/** Cases of CO. */
import { known } from "../facts_in_memory.ts";
import type { CheckCases } from "../check_cases.ts";
import type { FirewallExpression } from "../../../../lib/kernel/firewall/firewall.ts";
import { internalDefaults } from "../../../../lib/config/internal.ts";
import {
  absent,
  chain,
  configuration,
  firewall,
  network,
  nftTable,
  processes,
  rule,
  verdict,
} from "./node_facts.ts";
import { productCases } from "./products.ts";
import { table } from "./table.ts";

const upstream = { move: { toProxy: "upstream" } } as const;
const setMark = (bits: number): FirewallExpression => ({
  kind: "set-mark",
  value: bits,
  mask: bits,
});
const number = (value: number) => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
};
const nat = (priority: number, hook = "prerouting") => ({ type: "nat", hook, priority });
const running = known({ mode: "ipvs", isRunning: true, where: "http://127.0.0.1:10249" } as const);
const notRunning = known({ mode: "ipvs", isRunning: false, where: "table" } as const);

const rules: readonly CheckCases[] = [
  table({ id: "CO01", needs: "firewall" }, [
    [
      "a proxy's own",
      {
        firewall: firewall(
          nftTable("ip nat", [
            chain("PREROUTING", [rule(verdict("KUBE-SERVICES"))], nat(-100)),
            chain("KUBE-SERVICES", [rule(verdict("KUBE-MARK-MASQ"))]),
          ]),
        ),
        cni: known([]),
      },
      "pass",
      [],
    ],
    [
      "a rule of a chain that the kernel calls",
      {
        firewall: firewall(
          nftTable("ip nat", [chain("POSTROUTING", [rule(verdict("KUBE-MARK-MASQ"))], nat(100))]),
        ),
        cni: known([]),
      },
      "fail",
      ["table ip nat, chain POSTROUTING, handle 4 leads to KUBE-MARK-MASQ"],
    ],
    [
      "a rule of another chain, by a verdict map",
      {
        firewall: firewall(
          nftTable("ip nat", [
            chain("CNI-DN", [rule({
              kind: "lookup",
              set: {
                name: "m",
                fieldBytes: [2],
                elements: [{
                  first: Uint8Array.of(0, 80),
                  last: Uint8Array.of(0, 80),
                  verdict: { kind: "jump", chain: "KUBE-SERVICES" },
                }],
              },
              setName: "m",
              from: 1,
              into: 0,
              not: false,
            })]),
          ]),
        ),
        cni: known([]),
      },
      "fail",
      [/chain CNI-DN/],
    ],
    [
      "a CNI plugin",
      {
        firewall: firewall(),
        cni: known([{
          path: "/etc/cni/net.d/10.conflist",
          plugins: [{ type: "portmap", externalSetMarkChain: "KUBE-MARK-MASQ" }],
        }]),
      },
      "fail",
      ["/etc/cni/net.d/10.conflist has externalSetMarkChain: KUBE-MARK-MASQ"],
    ],
  ]),
  table({ id: "CO02", needs: "firewall" }, [
    ["nobody", { firewall: firewall() }, "pass", []],
    [
      "another bit, and the proxy's own",
      {
        firewall: firewall(
          nftTable("ip mangle", [
            chain("a", [rule(setMark(0x2000))]),
            chain("KUBE-MARK-MASQ", [rule(setMark(0x4000))]),
          ]),
          nftTable("ip kube-proxy", [chain("mark-for-masquerade", [rule(setMark(0x4000))])]),
        ),
      },
      "pass",
      [],
    ],
    [
      "a target",
      { firewall: firewall(nftTable("ip mangle", [chain("a", [rule(setMark(0x4000))])])) },
      "warn",
      ["table ip mangle, chain a, handle 4"],
    ],
    [
      "expressions that set it",
      {
        firewall: firewall(nftTable("inet x", [chain("a", [rule(
          { kind: "meta", key: 3, into: 1 },
          { kind: "bitwise", from: 1, into: 1, mask: number(0xffffbfff), xor: number(0x4000) },
          { kind: "set-meta", key: 3, from: 1 },
        )])])),
      },
      "warn",
      [],
    ],
    [
      "expressions that ask for it",
      {
        firewall: firewall(nftTable("inet x", [chain("a", [rule(
          { kind: "meta", key: 3, into: 1 },
          { kind: "bitwise", from: 1, into: 1, mask: number(0x4000), xor: number(0) },
          { kind: "cmp", from: 1, op: 0, value: number(0x4000) },
        )])])),
      },
      "warn",
      [],
    ],
    [
      "the same number of something else",
      {
        firewall: firewall(nftTable("inet x", [chain("a", [rule(
          { kind: "payload", base: "network", offset: 12, length: 4, into: 1 },
          { kind: "cmp", from: 1, op: 0, value: number(0x4000) },
        )])])),
      },
      "pass",
      [],
    ],
    [
      "a bit that is configured",
      {
        firewall: firewall(nftTable("ip mangle", [chain("a", [rule(setMark(0x2000))])])),
        configuration: configuration({
          nftables: { ...internalDefaults().nftables, masqueradeBit: 13 },
        }),
      },
      "warn",
      [],
    ],
  ]),
  table({ id: "CO03", needs: "firewall" }, [
    ["nobody", { firewall: firewall() }, "pass", []],
    [
      "after ours",
      { firewall: firewall(nftTable("ip docker", [chain("a", [rule(verdict("x"))], nat(-100))])) },
      "pass",
      [],
    ],
    [
      "at stock kube-proxy's",
      { firewall: firewall(nftTable("ip docker", [chain("a", [rule(verdict("x"))], nat(-100))])) },
      "warn",
      ["table ip docker, chain a: nat on prerouting at -100"],
      upstream,
    ],
    [
      "at ours",
      { firewall: firewall(nftTable("ip y", [chain("a", [rule(verdict("x"))], nat(-101))])) },
      "warn",
      [],
    ],
    [
      "sources before ours",
      {
        firewall: firewall(
          nftTable("ip y", [chain("a", [rule(verdict("x"))], nat(99, "postrouting"))]),
        ),
      },
      "warn",
      [],
    ],
    [
      "sources after ours",
      {
        firewall: firewall(
          nftTable("ip y", [chain("a", [rule(verdict("x"))], nat(100, "postrouting"))]),
        ),
      },
      "pass",
      [],
    ],
    [
      "a filter where source ranges are",
      {
        firewall: firewall(
          nftTable("ip y", [
            chain("a", [rule(verdict("drop"))], { hook: "prerouting", priority: -110 }),
          ]),
        ),
      },
      "warn",
      [],
    ],
    [
      "an old proxy's entrance, an empty chain, a table asleep, a filter elsewhere",
      {
        firewall: firewall(
          nftTable("ip f", [chain("P", [rule(verdict("x"))], { hook: "prerouting" })]),
          nftTable("ip nat", [chain("P", [rule(verdict("KUBE-SERVICES"))], nat(-200))]),
          nftTable("ip x", [chain("P", [], nat(-200))]),
          nftTable("ip y", [chain("P", [rule(verdict("x"))], nat(-200))], { isDormant: true }),
        ),
      },
      "pass",
      [],
    ],
  ]),
  table({ id: "CO04", needs: "firewall" }, [
    ["none", { firewall: firewall() }, "pass", []],
    [
      "one engine",
      { firewall: firewall(nftTable("ip filter", [chain("INPUT", [rule(verdict("x"))], {})])) },
      "pass",
      ["iptables-nft has rules in table filter"],
    ],
    [
      "both",
      {
        firewall: firewall(
          nftTable("ip6 filter", [chain("INPUT", [rule(verdict("x"))], {})]),
          nftTable("ip nat", [chain("P", [rule(verdict("x"))], {})], { engine: "legacy" }),
        ),
      },
      "warn",
      ["ip6tables-nft has rules in table filter", "iptables-legacy has rules in table nat"],
    ],
    [
      "both, one without rules",
      {
        firewall: firewall(
          nftTable("ip filter", [chain("INPUT", [rule(verdict("x"))], {})]),
          nftTable("ip filter", [chain("INPUT", [], {})], { engine: "legacy" }),
        ),
      },
      "pass",
      [],
    ],
  ]),
  table({ id: "CO05", needs: "iptablesTool" }, [
    ["there", { iptablesTool: known("/usr/sbin/iptables"), cni: known([]) }, "pass", []],
    ["not there, nor called", { iptablesTool: absent, cni: known([]) }, "pass", [/nothing calls/]],
    [
      "not there, and called",
      {
        iptablesTool: absent,
        cni: known([{
          path: "/etc/cni/net.d/10.conflist",
          plugins: [
            { type: "bridge", ipMasq: true },
            { type: "portmap", backend: "nftables" },
            { type: "loopback" },
          ],
        }]),
      },
      "fail",
      ["/etc/cni/net.d/10.conflist: plugin bridge"],
    ],
    [
      "not there, and called by the plugins of which it is the default",
      {
        iptablesTool: absent,
        cni: known([{
          path: "/etc/cni/net.d/10.conflist",
          plugins: [
            { type: "portmap" },
            { type: "firewall" },
            { type: "firewall", backend: "iptables" },
            { type: "ptp", ipMasq: true },
          ],
        }]),
      },
      "fail",
      [],
    ],
    [
      "not there, and all plugins do without",
      {
        iptablesTool: absent,
        cni: known([{
          path: "/etc/cni/net.d/10.conflist",
          plugins: [
            { type: "bridge" },
            { type: "bridge", ipMasq: true, ipMasqBackend: "nftables" },
            { type: "firewall", backend: "firewalld" },
            { type: "macvlan", ipMasq: true },
          ],
        }]),
      },
      "pass",
      [/nothing calls/],
    ],
  ]),
];

const proxies: readonly CheckCases[] = [
  table({ id: "CO15", needs: "processes" }, [
    ["none", { processes: processes([]), foundMode: absent }, "pass", [/None runs/]],
    [
      "one, in the mode that was said",
      { processes: processes(["kube-proxy --config=x"]), foundMode: running },
      "pass",
      ["process 1: kube-proxy --config=x", "http://127.0.0.1:10249 says ipvs"],
      { move: { from: "ipvs", fromGiven: true } },
    ],
    [
      "two",
      { processes: processes(["kube-proxy", "kube-proxy run"]), foundMode: running },
      "fail",
      ["2 proxies run in this network"],
    ],
    [
      "another mode than was said",
      { processes: processes(["kube-proxy"]), foundMode: running },
      "fail",
      ["--from is iptables, and http://127.0.0.1:10249 says ipvs"],
      { move: { from: "iptables", fromGiven: true } },
    ],
    [
      "another mode than was found elsewhere is no fault",
      { processes: processes(["kube-proxy"]), foundMode: running },
      "pass",
      [],
      { move: { from: "iptables", fromGiven: false } },
    ],
    [
      "a stranger at the health port",
      {
        processes: processes([], ["nginx -g x"], [{
          port: 10256,
          process: { pid: 1, argv: ["nginx", "-g", "x"] },
        }]),
        foundMode: notRunning,
      },
      "fail",
      ["process 1: nginx -g x"],
      { advice: ["Stop it, or set healthzBindAddress to another port."] },
    ],
    [
      "a proxy inside another program",
      {
        processes: processes([], ["k3s agent"], [{
          port: 10249,
          process: { pid: 1, argv: ["k3s", "agent"] },
        }]),
        foundMode: running,
      },
      "pass",
      [],
    ],
  ]),
  table({ id: "CO16", needs: "firewall" }, [
    ["none", { firewall: firewall(), network: network(), foundMode: absent }, "pass", []],
    [
      "the mode that runs",
      {
        firewall: firewall(nftTable("ip nat", [chain("KUBE-LOAD-BALANCER")])),
        network: network({ "kube-ipvs0": [] }),
        foundMode: running,
      },
      "pass",
      [],
    ],
    [
      "two modes that do not",
      {
        firewall: firewall(
          nftTable("ip nat", [chain("KUBE-SVC-A"), chain("KUBE-SEP-B")]),
          nftTable("ip6 kube-proxy", []),
        ),
        network: network(),
        foundMode: running,
      },
      "warn",
      ["2 chains in table ip nat", "table ip6 kube-proxy"],
      {
        advice: [
          "kube-proxy cleanup --mode nftables --dry-run",
          "kube-proxy cleanup --mode nftables",
          "kube-proxy cleanup --mode iptables --dry-run",
          "kube-proxy cleanup --mode iptables",
        ],
      },
    ],
    [
      "of the mode that was found by them",
      { firewall: firewall(), network: network({ "kube-ipvs0": [] }), foundMode: notRunning },
      "warn",
      ["interface kube-ipvs0"],
    ],
    [
      "a proxy that does not tell its mode",
      {
        firewall: firewall(),
        network: network({ "kube-ipvs0": [] }),
        foundMode: notRunning,
        processes: processes(["kube-proxy"]),
      },
      "pass",
      [],
    ],
  ]),
];

export const softwareCases: readonly CheckCases[] = [...rules, ...productCases, ...proxies];
