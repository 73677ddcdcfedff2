import assert from "node:assert/strict";
import { checkSanity, type SanityFacts } from "../../../cmd/run/sanity.ts";
import { internalDefaults, type ProxyConfiguration } from "../../../lib/config/internal.ts";

type Changes =
  & Partial<
    Pick<
      ProxyConfiguration,
      "mode" | "nodePortAddresses" | "detectLocalMode" | "healthzBindAddress" | "metricsBindAddress"
    >
  >
  & {
    readonly clusterCIDRs?: readonly string[];
    readonly excludeCIDRs?: readonly string[];
    readonly sourceVip?: string;
  };

function facts(changes: Changes, place: Partial<SanityFacts> = {}): SanityFacts {
  const defaults = internalDefaults();
  const { clusterCIDRs = [], excludeCIDRs = [], sourceVip = "", ...fields } = changes;
  return {
    configuration: {
      ...defaults,
      nodePortAddresses: ["primary"],
      ...fields,
      detectLocal: { ...defaults.detectLocal, clusterCIDRs },
      ipvs: { ...defaults.ipvs, excludeCIDRs },
      winkernel: { ...defaults.winkernel, sourceVip },
    },
    primary: "IPv4",
    dualStack: true,
    podCIDRs: [],
    localhostGate: false,
    ...place,
  };
}

const v4 = "10.128.0.0/14", v6 = "fd00:10:128::/48";
const single = { dualStack: false };

const rows: readonly { name: string; facts: SanityFacts; warnings?: RegExp; fatal?: RegExp }[] = [
  { name: "the defaults are fine", facts: facts({}) },
  {
    name: "node ports on everything",
    facts: facts({ nodePortAddresses: [] }),
    warnings: /nodePortAddresses is unset/,
  },
  {
    name: "node ports of one family in a dual-stack cluster",
    facts: facts({ nodePortAddresses: ["192.168.0.0/24"], clusterCIDRs: [v4, v6] }),
    warnings: /looks dual-stack .* all IPv6 addresses/,
  },
  {
    name: "node ports of one family and nothing dual-stack",
    facts: facts({ nodePortAddresses: ["192.168.0.0/24"], clusterCIDRs: [v4] }),
  },
  {
    name: "node ports of the other family only",
    facts: facts({ nodePortAddresses: ["fd00::/64"] }),
    warnings: /looks IPv4-primary .* all IPv4 addresses/,
  },
  {
    name: "node ports of both families",
    facts: facts({ nodePortAddresses: ["192.168.0.0/24", "fd00::/64"], clusterCIDRs: [v4, v6] }),
  },
  { name: "cluster CIDR of the right family", facts: facts({ clusterCIDRs: [v4] }, single) },
  { name: "cluster CIDRs of both families", facts: facts({ clusterCIDRs: [v4, v6] }, single) },
  {
    name: "cluster CIDR of the wrong family, in use, single-stack",
    facts: facts({ clusterCIDRs: [v6], detectLocalMode: "ClusterCIDR" }, single),
    fatal: /IPv4-only and clusterCIDRs hold IPv6 only/,
  },
  {
    name: "cluster CIDR of the wrong family, in use, dual-stack",
    facts: facts({ clusterCIDRs: [v6], detectLocalMode: "ClusterCIDR" }),
    warnings: /IPv4-primary and clusterCIDRs/,
  },
  {
    name: "cluster CIDR of the wrong family, not in use",
    facts: facts({ clusterCIDRs: [v6], detectLocalMode: "NodeCIDR" }, single),
    warnings: /clusterCIDRs/,
  },
  {
    name: "pod CIDRs of the wrong family, in use",
    facts: facts({ detectLocalMode: "NodeCIDR" }, { podCIDRs: [v6] }),
    fatal: /podCIDRs hold IPv6 only/,
  },
  {
    name: "pod CIDRs of the wrong family, not in use",
    facts: facts({ detectLocalMode: "ClusterCIDR" }, { podCIDRs: [v6] }),
    warnings: /podCIDRs/,
  },
  {
    name: "pod CIDRs of both families",
    facts: facts({ detectLocalMode: "NodeCIDR" }, { podCIDRs: [v4, v6] }),
  },
  {
    name: "source VIP of the wrong family",
    facts: facts({ sourceVip: "fd00::1" }),
    warnings: /winkernel.sourceVip is IPv6 only/,
  },
  {
    name: "excluded CIDRs of the wrong family, single-stack",
    facts: facts({ excludeCIDRs: [v6] }, single),
    warnings: /ipvs.excludeCIDRs/,
  },
  { name: "excluded CIDRs of the wrong family, dual-stack", facts: facts({ excludeCIDRs: [v6] }) },
  {
    name: "healthz on the wrong family, single-stack",
    facts: facts({ healthzBindAddress: "[fd00::1]:10256" }, single),
    warnings: /healthzBindAddress is IPv6 only/,
  },
  { name: "healthz on any address", facts: facts({ healthzBindAddress: "[::]:10256" }, single) },
  {
    name: "metrics on the wrong family, single-stack",
    facts: facts({ metricsBindAddress: "[fd00::1]:10249" }, single),
    warnings: /metricsBindAddress/,
  },
  {
    name: "metrics on the wrong family, dual-stack",
    facts: facts({ metricsBindAddress: "[fd00::1]:10249" }),
  },
  {
    name: "node ports on localhost",
    facts: facts({ mode: "nftables", nodePortAddresses: ["localhost", "primary"] }),
    warnings: /do not answer on loopback/,
  },
  {
    name: "the gate for node ports on localhost",
    facts: facts({ mode: "nftables" }, { localhostGate: true }),
    warnings: /do not answer on loopback/,
  },
  {
    name: "the same in an IPv6 cluster",
    facts: facts({
      clusterCIDRs: [v4],
      metricsBindAddress: "[::1]:10249",
      detectLocalMode: "ClusterCIDR",
    }, {
      primary: "IPv6",
      ...single,
    }),
    fatal: /IPv6-only and clusterCIDRs hold IPv4 only/,
  },
];

Deno.test("checkSanity() warns of what looks wrong and ends what never worked", async (t) => {
  for (const row of rows) {
    await t.step(row.name, () => {
      const { warnings, fatal } = checkSanity(row.facts);
      assert.equal(warnings.length, row.warnings ? 1 : 0, warnings.join("; "));
      assert.equal(fatal.length, row.fatal ? 1 : 0, fatal.join("; "));
      if (row.warnings) assert.match(warnings[0], row.warnings);
      if (row.fatal) assert.match(fatal[0], row.fatal);
    });
  }
});
