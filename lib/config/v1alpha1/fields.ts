/**
 * v1alpha1, field by field as upstream reads it: which fields it has, what it fills up otherwise than
 * v1alpha2, and where it keeps what v1alpha2 keeps elsewhere. Fields that are alike come from there.
 */
import * as z from "zod";
import {
  type AnyFields,
  duration,
  field,
  notNegative,
  optionalDuration,
  positive,
  section,
  text,
} from "../../base/fields.ts";
import { parseIp } from "../../base/ip.ts";
import { modeConfigs } from "../../writers/registry.ts";
import { eachNodeIp } from "../rules.ts";
import { always, type Move, tableOf } from "../tables.ts";
import { conntrack, detectLocal, linux, v1alpha2Fields, windows } from "../v1alpha2/fields.ts";

const { masqueradeBit, localhostNodePorts } = modeConfigs.iptables.fields;
const { masqueradeBit: _ipvsBit, ...ipvs } = modeConfigs.ipvs.fields;

/** A written zero and no value are one to upstream. */
const syncPeriod = duration({
  default: 30_000,
  doc: "How often everything is checked and a failed sync tried again.",
  rules: [positive],
  upstream: "SyncPeriod",
  zeroIsUnset: true,
});

const minSyncPeriod = optionalDuration({
  doc: "The least time between two syncs; 0s means the default of the mode.",
  rules: [notNegative],
  upstream: "MinSyncPeriod",
  zeroIsUnset: true,
  refusesNull: true,
});

/** One range, or one of each family behind a comma. Nothing is trimmed. */
const commaList = z.codec(z.string(), z.array(z.string()).readonly(), {
  decode: (value) => value === "" ? [] : value.split(","),
  encode: (values) => values.join(","),
});

/** Whether the text is an address that stands for all of its family. */
export function isUnspecified(text: string): boolean {
  return parseIp(text)?.every((byte) => byte === 0) ?? false;
}

/** 0.0.0.0 and :: mean that no address is given. */
const oneAddress = z.codec(z.string(), z.array(z.string()).readonly(), {
  decode: (value) => value === "" || isUnspecified(value) ? [] : [value],
  encode: (values) => values[0] ?? "0.0.0.0",
});

/** Upstream's order. */
export const v1alpha1Fields: AnyFields = {
  featureGates: v1alpha2Fields.featureGates,
  clientConnection: v1alpha2Fields.clientConnection,
  logging: v1alpha2Fields.logging,
  hostnameOverride: v1alpha2Fields.hostnameOverride,
  bindAddress: field(oneAddress, "a string", {
    default: [],
    doc:
      "Address of this node instead of that of its Node object; 0.0.0.0 and :: override nothing.",
    rules: [eachNodeIp],
    upstream: "BindAddress",
  }),
  healthzBindAddress: v1alpha2Fields.healthzBindAddress,
  metricsBindAddress: v1alpha2Fields.metricsBindAddress,
  bindAddressHardFail: { ...v1alpha2Fields.bindAddressHardFail, default: false },
  enableProfiling: v1alpha2Fields.enableProfiling,
  showHiddenMetricsForVersion: v1alpha2Fields.showHiddenMetricsForVersion,
  mode: v1alpha2Fields.mode,
  iptables: section(
    "Settings of the iptables mode; the ipvs mode shares the bit and masqueradeAll",
    {
      masqueradeBit,
      masqueradeAll: linux.masqueradeAll,
      localhostNodePorts: {
        ...localhostNodePorts,
        default: modeConfigs.iptables.defaults.localhostNodePorts,
      },
      syncPeriod,
      minSyncPeriod,
    },
  ),
  ipvs: section(modeConfigs.ipvs.doc, { syncPeriod, minSyncPeriod, ...ipvs }),
  nftables: section(modeConfigs.nftables.doc, {
    ...modeConfigs.nftables.fields,
    masqueradeAll: linux.masqueradeAll,
    syncPeriod,
    minSyncPeriod,
  }),
  winkernel: v1alpha2Fields.winkernel,
  detectLocalMode: v1alpha2Fields.detectLocalMode,
  detectLocal: section("What the mode of detection needs to know", {
    bridgeInterface: detectLocal.bridgeInterface,
    interfaceNamePrefix: detectLocal.interfaceNamePrefix,
  }),
  clusterCIDR: field(commaList, "a string", {
    default: [],
    doc:
      "With the mode ClusterCIDR: traffic from this range, or these two behind a comma, is local.",
    upstream: "DetectLocalConfiguration.ClusterCIDRs",
  }),
  nodePortAddresses: v1alpha2Fields.nodePortAddresses,
  oomScoreAdj: linux.oomScoreAdj,
  conntrack: section("Connection tracking", conntrack),
  configSyncPeriod: { ...v1alpha2Fields.configSyncPeriod, zeroIsUnset: true },
  portRange: text({ default: "", doc: "Read by nothing." }),
  windowsRunAsService: windows.runAsService,
};

function moved(to: string | readonly string[], counts: (mode: string) => boolean = always): Move {
  return { to: typeof to === "string" ? [to] : to, counts };
}

const inIpvs = (mode: string) => mode === "ipvs";
const inNftables = (mode: string) => mode === "nftables";
const inNeither = (mode: string) => !inIpvs(mode) && !inNftables(mode);

/** What v1alpha2 keeps elsewhere: KEP-784's tables. */
const v1alpha1Moves: Readonly<Record<string, Move>> = {
  "bindAddress": moved("nodeIPOverride"),
  "clusterCIDR": moved("detectLocal.clusterCIDRs"),
  "conntrack": moved("linux.conntrack"),
  "iptables.masqueradeAll": moved("linux.masqueradeAll", (mode) => !inNftables(mode)),
  "iptables.masqueradeBit": moved(["iptables.masqueradeBit", "ipvs.masqueradeBit"]),
  "iptables.minSyncPeriod": moved("minSyncPeriod", inNeither),
  "iptables.syncPeriod": moved("syncPeriod", inNeither),
  "ipvs.minSyncPeriod": moved("minSyncPeriod", inIpvs),
  "ipvs.syncPeriod": moved("syncPeriod", inIpvs),
  // Upstream reads these two from flags alone: what a file says is overwritten by their defaults.
  "logging.options.json.splitStream": moved([]),
  "logging.options.text.splitStream": moved([]),
  "nftables.masqueradeAll": moved("linux.masqueradeAll", inNftables),
  "nftables.minSyncPeriod": moved("minSyncPeriod", inNftables),
  "nftables.syncPeriod": moved("syncPeriod", inNftables),
  "oomScoreAdj": moved("linux.oomScoreAdj"),
  "portRange": moved([]),
  "windowsRunAsService": moved("windows.runAsService"),
};

/** The rows of v1alpha1. */
export const v1alpha1Table = tableOf(v1alpha1Fields, v1alpha1Moves);
