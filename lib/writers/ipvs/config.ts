import {
  duration,
  eachCidr,
  flag,
  int32,
  notNegative,
  range,
  text,
  textList,
} from "../../base/fields.ts";
import type { ModeConfig } from "../writer.ts";

/** The part of the configuration that this mode owns. Zero timeouts leave the kernel's as they are. */
export interface IpvsSettings {
  /** The bit of the packet mark that says: masquerade this. */
  readonly masqueradeBit: number;
  /** Empty means `rr`. */
  readonly scheduler: string;
  /** Virtual servers in these ranges belong to somebody else. */
  readonly excludeCIDRs: readonly string[];
  readonly strictARP: boolean;
  readonly tcpTimeoutMs: number;
  readonly tcpFinTimeoutMs: number;
  readonly udpTimeoutMs: number;
}

const defaults: IpvsSettings = {
  masqueradeBit: 14,
  scheduler: "",
  excludeCIDRs: [],
  strictARP: false,
  tcpTimeoutMs: 0,
  tcpFinTimeoutMs: 0,
  udpTimeoutMs: 0,
};

const leftAlone = "0s leaves the kernel's value.";

/** How that part stands in a file. */
export const ipvsConfig: ModeConfig<IpvsSettings, "ipvs"> = {
  mode: "ipvs",
  documentKind: "KubeProxyIPVSConfiguration",
  doc: "Settings of the ipvs mode",
  fields: {
    masqueradeBit: int32({
      default: defaults.masqueradeBit,
      doc: "Bit of the packet mark that marks packets to masquerade, 0 to 31.",
      rules: [range(0, 31)],
      upstream: "KubeProxyIPVSConfiguration.MasqueradeBit",
    }),
    scheduler: text({
      default: defaults.scheduler,
      doc: "How connections are spread over endpoints; empty means rr (round robin).",
    }),
    excludeCIDRs: textList({
      default: defaults.excludeCIDRs,
      doc: "Virtual servers in these ranges belong to somebody else and are left alone.",
      rules: [eachCidr],
      upstream: "KubeProxyIPVSConfiguration.ExcludeCidrs",
    }),
    strictARP: flag({
      default: defaults.strictARP,
      doc: "Do not answer ARP for the addresses of kube-ipvs0 on other interfaces.",
    }),
    tcpTimeout: duration({
      default: defaults.tcpTimeoutMs,
      doc: `How long an idle TCP session is kept. ${leftAlone}`,
      rules: [notNegative],
      upstream: "KubeProxyIPVSConfiguration.TCPTimeout",
    }),
    tcpFinTimeout: duration({
      default: defaults.tcpFinTimeoutMs,
      doc: `How long a TCP session is kept after a FIN. ${leftAlone}`,
      rules: [notNegative],
      upstream: "KubeProxyIPVSConfiguration.TCPFinTimeout",
    }),
    udpTimeout: duration({
      default: defaults.udpTimeoutMs,
      doc: `How long an idle UDP session is kept. ${leftAlone}`,
      rules: [notNegative],
      upstream: "KubeProxyIPVSConfiguration.UDPTimeout",
    }),
  },
  defaults,
  gate: "KubeProxyIPVS",
  deprecation: {
    reason: "IPVSDeprecation",
    note:
      "The ipvs mode is deprecated: Kubernetes 1.40 switches it off by default and 1.43 removes " +
      'it; "kube-proxy doctor" tells whether this node can leave it for nftables mode',
  },
};
