/** Cases of KRN, CT and NET. */
import type { FactValues } from "../../../../lib/doctor/facts/fact_values.ts";
import type { CheckCases } from "../check_cases.ts";
import { known } from "../facts_in_memory.ts";
import {
  absent,
  firewall,
  kernel,
  modules,
  nftTable,
  objects,
  settingFiles,
  settings,
  software,
  workload,
} from "./node_facts.ts";
import { table } from "./table.ts";

const upstream = { move: { toProxy: "upstream" } } as const;
const iptables = { move: { from: "iptables" } } as const;

function probe(rest: Partial<FactValues["expressions"]> = {}) {
  return known<FactValues["expressions"]>({
    how: "tried",
    hasNfTables: true,
    missing: [],
    untold: [],
    ...rest,
  });
}

function tool(rest: Partial<FactValues["nftTool"]> = {}) {
  return known<FactValues["nftTool"]>({
    path: "/usr/sbin/nft",
    version: "1.0.9",
    listing: { kind: "fine" },
    json: "yes",
    ...rest,
  });
}

const numgen = {
  what: "numgen (IPv4)",
  modules: ["nft_numgen"],
  reason: "no such object (ENOENT)",
};
const skips = new Map([["KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK", "1"]]);
const liberal = "net.netfilter.nf_conntrack_tcp_be_liberal";
const liberalPath = "net/netfilter/nf_conntrack_tcp_be_liberal";
const max = "net/netfilter/nf_conntrack_max";
const count = "net/netfilter/nf_conntrack_count";
const forward = "net/ipv4/ip_forward";
const forwardAdvice = [
  'echo "net.ipv4.ip_forward = 1" > /etc/sysctl.d/90-kubernetes-forwarding.conf',
  "sysctl -p /etc/sysctl.d/90-kubernetes-forwarding.conf",
];

const krn: readonly CheckCases[] = [
  table({ id: "KRN01", needs: "kernel" }, [
    ["a new kernel", { kernel: kernel("6.1.0") }, "pass", []],
    ["before 6.1", { kernel: kernel("5.13.0") }, "warn", [/out of order/]],
    ["before 5.13", { kernel: kernel("5.10.0-30") }, "warn", [/stock kube-proxy refuses/]],
    ["before 5.13, to stock kube-proxy", { kernel: kernel("5.12.9") }, "fail", [/refuses/], {
      ...upstream,
      unfixable: true,
    }],
    [
      "before 5.13, to stock kube-proxy that is told to go on",
      {
        kernel: kernel("5.12.9"),
        software: software([workload("kube-proxy", { env: skips })]),
      },
      "warn",
      [/which is set/],
      upstream,
    ],
  ]),
  table({ id: "KRN02", needs: "modules" }, [
    ["loaded", { modules: modules({ loaded: ["nf_tables"] }) }, "pass", ["nf_tables is loaded"]],
    ["compiled in", { modules: modules({ builtIn: ["nf_tables"] }) }, "pass", [/built-in/]],
    ["below /lib/modules", { modules: modules({ available: ["nf_tables"] }) }, "pass", [
      /available/,
    ]],
    ["it answers", { modules: modules({}), expressions: probe() }, "pass", ["nf_tables answers"]],
    [
      "it does not answer",
      {
        modules: modules({ available: ["nf_tables"] }),
        expressions: probe({ hasNfTables: false }),
      },
      "fail",
      [/does not answer/],
      { advice: ["modprobe nf_tables"] },
    ],
    ["nowhere", { modules: modules({ builtIn: [], available: [] }) }, "fail", [/neither/], {
      unfixable: true,
    }],
    ["nothing tells", { modules: modules({}) }, "unknown", [/Nothing tells/]],
    [
      "nothing was tried",
      { modules: modules({}), expressions: probe({ how: "read" }) },
      "unknown",
      [/Nothing tells/],
    ],
  ]),
  table({ id: "KRN03", needs: "expressions" }, [
    ["all are there", { expressions: probe() }, "pass", ["The kernel takes every expression"]],
    ["all modules are there", { expressions: probe({ how: "read" }) }, "pass", [/Every module/]],
    [
      "one is missing and can be loaded",
      {
        expressions: probe({ missing: [numgen] }),
        modules: modules({ builtIn: [], available: ["nft_numgen"] }),
      },
      "fail",
      ["numgen (IPv4): no such object (ENOENT)"],
      { advice: ["modprobe -a nft_numgen"] },
    ],
    [
      "one is missing for good, and all are named at once",
      {
        expressions: probe({
          missing: [numgen, { ...numgen, what: "fib (IPv6)", modules: ["nft_fib_ipv6"] }],
        }),
        modules: modules({ builtIn: [], available: [] }),
      },
      "fail",
      [/^numgen/, /^fib/],
      { unfixable: true, advice: ["modprobe -a nft_numgen nft_fib_ipv6"] },
    ],
    ["no nf_tables", { expressions: probe({ hasNfTables: false }) }, "fail", [/no nf_tables/]],
    [
      "no nf_tables, nor its module",
      {
        expressions: probe({ hasNfTables: false }),
        modules: modules({ builtIn: [], available: [] }),
      },
      "fail",
      [],
      { unfixable: true },
    ],
    ["nothing tells", { expressions: probe({ untold: ["nft_ct"] }) }, "unknown", [/nft_ct/]],
  ]),
  table({ id: "KRN04", needs: "nftTool" }, [
    ["none", { nftTool: absent }, "pass", [/needs none/]],
    ["to this program", { nftTool: tool({ version: "0.9.0" }) }, "pass", [/needs no nft/]],
    ["new enough", { nftTool: tool({ version: "1.0.1" }) }, "pass", [], upstream],
    ["old", { nftTool: tool({ version: "1.0.0" }) }, "fail", [/before 1\.0\.1/], upstream],
    ["no version", { nftTool: tool({ version: "" }) }, "unknown", [/not tell/], upstream],
  ]),
  table({ id: "KRN05", needs: "nftTool" }, [
    ["none", { nftTool: absent }, "pass", ["The host has none"]],
    ["it lists all", { nftTool: tool() }, "pass", [/lists every/]],
    [
      "a table with an owner",
      { nftTool: tool(), firewall: firewall(nftTable("ip x", [], { isOwned: true })) },
      "pass",
      ["Table ip x belongs to the program that made it"],
    ],
    [
      "it dies",
      { nftTool: tool({ listing: { kind: "crashed", signal: "SIGSEGV" } }) },
      "warn",
      [/SIGSEGV/],
    ],
    [
      "it dies, and stock kube-proxy works by it",
      { nftTool: tool({ listing: { kind: "crashed", signal: "SIGABRT" } }) },
      "fail",
      [/SIGABRT/],
      upstream,
    ],
    [
      "it refuses",
      { nftTool: tool({ listing: { kind: "refused", words: "no" } }) },
      "warn",
      ["It cannot list the rules: no"],
    ],
    [
      "whoever asks may not",
      { nftTool: tool({ listing: { kind: "forbidden", words: "no" } }) },
      "unknown",
      ["It cannot list the rules: no"],
    ],
  ]),
  table({ id: "KRN06", needs: "nftTool" }, [
    ["none", { nftTool: absent }, "pass", []],
    ["with JSON", { nftTool: tool() }, "pass", []],
    ["without", { nftTool: tool({ json: "no" }) }, "warn", [/without JSON/]],
    ["it does not tell", { nftTool: tool({ json: "untold" }) }, "unknown", [/not tell/]],
  ]),
  table({ id: "KRN07", needs: "kernelLog" }, [
    ["a quiet log", { kernelLog: known(["eth0: up", "nft_do_chain is fine"]) }, "pass", []],
    [
      "a lockup elsewhere",
      { kernelLog: known(["watchdog: BUG: soft lockup - CPU#1 stuck", "ext4_sync_file+0x1"]) },
      "pass",
      [],
    ],
    [
      "a lockup in nf_tables",
      {
        kernelLog: known([
          "watchdog: BUG: soft lockup - CPU#1 stuck",
          "Call Trace:",
          " __nft_x+0x1",
        ]),
      },
      "warn",
      [/soft lockup/],
    ],
  ]),
];

const ct: readonly CheckCases[] = [
  table({ id: "CT01", needs: "settings" }, [
    ["loaded", { settings: settings({ [max]: "1000" }) }, "pass", []],
    ["not loaded", { settings: settings({}) }, "fail", [/not loaded/], {
      advice: ["modprobe nf_conntrack"],
    }],
  ]),
  table({ id: "CT02", needs: "settings" }, [
    ["room", { settings: settings({ [max]: "1000", [count]: "700" }) }, "pass", [/700 of 1000/]],
    ["no limit", { settings: settings({ [max]: "0", [count]: "700" }) }, "pass", [/no limit/]],
    ["little", { settings: settings({ [max]: "1000", [count]: "701" }) }, "warn", [/701/], {
      advice: ["sysctl -w net.netfilter.nf_conntrack_max=2000"],
    }],
    ["still", { settings: settings({ [max]: "1000", [count]: "950" }) }, "warn", []],
    ["none", { settings: settings({ [max]: "1000", [count]: "951" }) }, "fail", [/951 of 1000/]],
  ]),
  table({ id: "CT03", needs: "settings" }, [
    ["at the cap", { settings: settings({ [max]: "1048576" }) }, "pass", []],
    ["above it", { settings: settings({ [max]: "1048577" }) }, "warn", [/1048577/]],
  ]),
  table({ id: "CT04", needs: "settings" }, [
    ["a new kernel", { kernel: kernel("6.1.0"), settings: settings({}) }, "pass", [/well/]],
    [
      "liberal",
      { kernel: kernel("5.15.0"), settings: settings({ [liberalPath]: "1" }) },
      "pass",
      ["It is 1"],
    ],
    [
      "not liberal",
      { kernel: kernel("5.15.0"), settings: settings({ [liberalPath]: "0" }) },
      "warn",
      [/kernel is 5\.15\.0/],
      {
        advice: [
          "Set conntrack.tcpBeLiberal: true in the configuration.",
          `sysctl -w ${liberal}=1`,
        ],
      },
    ],
    [
      "from iptables, which dropped none",
      {
        kernel: kernel("5.15.0"),
        settings: settings({ [liberalPath]: "0" }),
        invalidDrops: known({ count: 0, isRising: false }),
      },
      "pass",
      [/dropped no INVALID/],
      iptables,
    ],
    [
      "from iptables, which dropped some",
      {
        kernel: kernel("5.15.0"),
        settings: settings({ [liberalPath]: "0" }),
        invalidDrops: known({ count: 3, isRising: false }),
      },
      "warn",
      [/dropped 3/],
      iptables,
    ],
    [
      "from iptables, which drops some now",
      {
        kernel: kernel("5.15.0"),
        settings: settings({ [liberalPath]: "0" }),
        invalidDrops: known({ count: 3, isRising: true }),
      },
      "fail",
      [/while this ran/],
      iptables,
    ],
  ]),
];

const net: readonly CheckCases[] = [
  table({ id: "NET01", needs: "settings" }, [
    [
      "a file sets it",
      { settings: settings({ [forward]: "1" }), settingFiles: settingFiles({ [forward]: "1" }) },
      "pass",
      ["/etc/sysctl.d/9.conf sets it"],
    ],
    [
      "nobody but the proxy",
      { settings: settings({ [forward]: "1" }), settingFiles: settingFiles() },
      "warn",
      ["It is 1", "No file sets it"],
      { advice: forwardAdvice },
    ],
    [
      "a file sets it to 0",
      { settings: settings({ [forward]: "1" }), settingFiles: settingFiles({ [forward]: "0" }) },
      "warn",
      ["/etc/sysctl.d/9.conf sets it to 0"],
    ],
    [
      "from iptables",
      { settings: settings({ [forward]: "1" }), settingFiles: settingFiles() },
      "pass",
      [/Does not apply/],
      iptables,
    ],
  ]),
  table({ id: "NET02", needs: "settings" }, [
    ["none", { settings: settings({}), settingFiles: settingFiles() }, "pass", []],
    [
      "left by strictARP",
      {
        settings: settings({
          "net/ipv4/conf/all/arp_ignore": "1",
          "net/ipv4/conf/all/arp_announce": "2",
        }),
        settingFiles: settingFiles(),
      },
      "pass",
      ["net.ipv4.conf.all.arp_ignore is 1", "net.ipv4.conf.all.arp_announce is 2", /Left by/],
    ],
  ]),
  table({ id: "NET03", needs: "settings" }, [
    ["0", { settings: settings({ "net/ipv4/conf/all/route_localnet": "0" }) }, "pass", []],
    [
      "1",
      { settings: settings({ "net/ipv4/conf/all/route_localnet": "1" }) },
      "warn",
      ["It is 1"],
      { advice: ["sysctl -w net.ipv4.conf.all.route_localnet=0"] },
    ],
    [
      "1 by a file",
      {
        settings: settings({ "net/ipv4/conf/all/route_localnet": "1" }),
        settingFiles: settingFiles({ "net/ipv4/conf/all/route_localnet": "1" }),
      },
      "warn",
      ["/etc/sysctl.d/9.conf sets it"],
    ],
  ]),
  table({ id: "NET04", needs: "settings" }, [
    ["there", { settings: settings({ "net/ipv6/conf/all/disable_ipv6": "0" }) }, "pass", []],
    [
      "off, and not wanted",
      {
        settings: settings({ "net/ipv6/conf/all/disable_ipv6": "1" }),
        objects: objects([]),
      },
      "pass",
      [/nothing here asks/],
    ],
    [
      "off, and wanted",
      {
        settings: settings({ "net/ipv6/conf/all/disable_ipv6": "1" }),
        objects: objects([], {
          serviceCIDRs: [{
            namespace: "",
            name: "kubernetes",
            resourceVersion: "1",
            cidrs: ["fd00:172:30::/108"],
          }],
        }),
      },
      "warn",
      ["IPv6 is switched off", "The cluster has it: fd00:172:30::"],
      { advice: ["sysctl -w net.ipv6.conf.all.disable_ipv6=0"] },
    ],
    [
      "not in the kernel, and wanted",
      {
        settings: settings({}),
        objects: objects([], {
          node: {
            namespace: "",
            name: "node-a",
            resourceVersion: "1",
            addresses: [{ type: "InternalIP", address: "fd00:192:168:1::1" }],
            podCIDRs: [],
            zone: "",
            taintKeys: [],
            deleting: false,
          },
        }),
      },
      "warn",
      ["The kernel has no IPv6"],
    ],
  ]),
  table({ id: "NET05", needs: "rights" }, [
    ["all", { rights: known({ hasNetAdmin: true, isInNodeNetwork: true }) }, "pass", []],
    [
      "no CAP_NET_ADMIN",
      { rights: known({ hasNetAdmin: false, isInNodeNetwork: true }) },
      "fail",
      [/CAP_NET_ADMIN/],
    ],
    [
      "another network",
      { rights: known({ hasNetAdmin: true, isInNodeNetwork: false }) },
      "fail",
      [/another network namespace/],
    ],
    [
      "it cannot be seen",
      { rights: known({ hasNetAdmin: true, isInNodeNetwork: undefined }) },
      "unknown",
      [/cannot be seen/],
    ],
  ]),
];

export const kernelCases: readonly CheckCases[] = [...krn, ...ct, ...net];
