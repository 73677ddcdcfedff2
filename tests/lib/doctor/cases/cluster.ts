/** Cases of CFG and SCL. */
import type { CheckCases } from "../check_cases.ts";
import { internalDefaults } from "../../../../lib/config/internal.ts";
import { known } from "../facts_in_memory.ts";
import {
  absent,
  configuration,
  objects,
  processes,
  service,
  software,
  workload,
} from "./node_facts.ts";
import { table } from "./table.ts";

const upstream = { move: { toProxy: "upstream" } } as const;
const version = (minor: number) => known({ major: 1, minor });
const proxy = (tag: string) =>
  software([workload("kube-proxy", { images: [`registry.example/kube-proxy:${tag}`] })]);
const longName = service({ namespace: "n".repeat(63), name: "s".repeat(63) });
const { detectLocal } = internalDefaults();

export const clusterCases: readonly CheckCases[] = [
  table({ id: "CFG01", needs: "configuration" }, [
    ["none", { configuration: absent }, "pass", [/None is named/]],
    ["right", { configuration: configuration() }, "pass", []],
    ["wrong", { configuration: configuration({}, ["x:1:2: moed: unknown"]) }, "fail", [
      "x:1:2: moed: unknown",
    ]],
  ]),
  table({ id: "CFG02", needs: "configuration" }, [
    ["none", { configuration: absent }, "pass", []],
    ["said", { configuration: configuration({ mode: "ipvs" }) }, "pass", []],
    ["not said", { configuration: configuration() }, "warn", ["mode is empty"], {
      advice: ["mode: nftables"],
    }],
  ]),
  table({ id: "CFG03", needs: "processes" }, [
    ["no proxy", { processes: processes([]) }, "pass", ["No proxy runs here"]],
    [
      "flags that hold",
      { processes: processes(["kube-proxy --config=x --hostname-override=a -v=2"]) },
      "pass",
      [],
    ],
    ["flags alone", { processes: processes(["kube-proxy --cluster-cidr=a"]) }, "pass", []],
    [
      "flags beside a file",
      { processes: processes(["kube-proxy --config x --cluster_cidr=a --proxy-mode ipvs"]) },
      "warn",
      [
        "--cluster-cidr has no effect beside --config",
        "--proxy-mode has no effect beside --config",
      ],
    ],
  ]),
  table({ id: "CFG04", needs: "configuration" }, [
    ["unset", { configuration: configuration() }, "pass", ["Not set"]],
    ["short", { configuration: configuration({ minSyncPeriodMs: 999 }) }, "pass", ["0.999s"]],
    ["1 s", { configuration: configuration({ minSyncPeriodMs: 1_000 }) }, "warn", [/1s/], {
      advice: ["Remove minSyncPeriod."],
    }],
    [
      "1 s, to stock kube-proxy",
      { configuration: configuration({ minSyncPeriodMs: 1_000 }) },
      "pass",
      [],
      upstream,
    ],
    [
      "more, to stock kube-proxy",
      { configuration: configuration({ minSyncPeriodMs: 1_001 }) },
      "warn",
      [],
      { ...upstream, advice: ["minSyncPeriod: 1s"] },
    ],
  ]),
  table({ id: "CFG05", needs: "configuration" }, [
    ["none", { configuration: absent }, "pass", []],
    ["nothing set", { configuration: configuration() }, "warn", [
      "detectLocalMode is ClusterCIDR, and clusterCIDR is not set",
    ]],
    [
      "a range",
      {
        configuration: configuration({
          detectLocal: { ...detectLocal, clusterCIDRs: ["10.128.0.0/14"] },
        }),
      },
      "pass",
      [],
    ],
    [
      "a mode that was said, without its range",
      { configuration: configuration({ detectLocalMode: "ClusterCIDR" }) },
      "warn",
      [],
    ],
    [
      "a bridge without a name",
      { configuration: configuration({ detectLocalMode: "BridgeInterface" }) },
      "warn",
      [/bridgeInterface is not set/],
    ],
    [
      "a prefix",
      {
        configuration: configuration({
          detectLocalMode: "InterfaceNamePrefix",
          detectLocal: { ...detectLocal, interfaceNamePrefix: "veth" },
        }),
      },
      "pass",
      [],
    ],
    ["the Node", { configuration: configuration({ detectLocalMode: "NodeCIDR" }) }, "pass", []],
  ]),
  table({ id: "CFG06", needs: "clusterVersion" }, [
    ["years left", { clusterVersion: version(37) }, "pass", [/^6 minors left/]],
    ["off by default", { clusterVersion: version(42) }, "warn", [/^1 minor left/]],
    ["gone", { clusterVersion: version(43) }, "fail", [/no ipvs mode/]],
    ["from iptables", { clusterVersion: version(39) }, "pass", [/1 minor from now/], {
      move: { from: "iptables" },
    }],
    ["from iptables, later", { clusterVersion: version(43) }, "pass", [/default mode/], {
      move: { from: "iptables" },
    }],
  ]),
  table({ id: "CFG07", needs: "access" }, [
    ["all", { access: known({ denied: [] }) }, "pass", []],
    ["one", { access: known({ denied: ["watch services"] }) }, "fail", [
      "Not allowed: watch services",
    ]],
    [
      "namespaces, without which all are served",
      { access: known({ denied: ["list namespaces", "watch namespaces"] }) },
      "warn",
      ["Not allowed: list namespaces", "Namespaces that opted out are served all the same"],
    ],
    [
      "namespaces and more",
      { access: known({ denied: ["list namespaces", "watch nodes"] }) },
      "fail",
      ["Not allowed: list namespaces", "Not allowed: watch nodes"],
    ],
    [
      "namespaces, which stock kube-proxy does not read",
      { access: known({ denied: ["list namespaces"] }) },
      "pass",
      [],
      upstream,
    ],
  ]),
  table({ id: "CFG08", needs: "software", ...upstream }, [
    ["to this program", { software: proxy("v1.30.0") }, "pass", [/Does not apply/], {
      move: { toProxy: "this" },
    }],
    ["none", { software: software([]) }, "pass", []],
    ["new", { software: proxy("v1.36.0") }, "pass", []],
    ["old", { software: proxy("v1.35.4") }, "warn", [/1\.35\.4/]],
    ["no version", { software: proxy("latest") }, "unknown", [/not tell/]],
  ]),
  table({ id: "SCL01", needs: "objects" }, [
    ["small", { objects: objects([service()]) }, "pass", [
      "1 Service with 1 port, 0 endpoints in 0 slices",
      "A start of this program takes about 0.3 s and 90 MB, in proportion to what was measured elsewhere",
    ]],
    ["large", { objects: objects(Array(20_000).fill(service())) }, "warn", [
      /^20000 Services/,
      /^A start of this program takes about 0\.5 s and 110 MB,/,
    ]],
    [
      "to stock kube-proxy",
      { objects: objects(Array(11_000).fill(service())) },
      "pass",
      [/^A start of stock kube-proxy takes about 1\.8 s and 30 MB,/],
      upstream,
    ],
  ]),
  table({ id: "SCL02", needs: "objects" }, [
    ["short", { objects: objects([service()]) }, "pass", [/None/]],
    ["long", { objects: objects([longName]) }, "pass", [/fine here/]],
    [
      "long, to stock kube-proxy",
      { objects: objects([longName]) },
      "warn",
      [/^n+\/s+:http$/],
      upstream,
    ],
    [
      "long, to a new one",
      { objects: objects([longName]), software: proxy("v1.37.0") },
      "pass",
      [],
      upstream,
    ],
  ]),
];
