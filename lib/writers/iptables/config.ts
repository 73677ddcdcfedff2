import { choice, flag, int32, range } from "../../base/fields.ts";
import type { ModeConfig } from "../writer.ts";

/** In which of iptables' backends the rules are; `auto` takes the one that kubelet uses, else nft. */
export type IptablesBackend = "auto" | "legacy" | "nft";

/** The part of the configuration that this mode owns. */
export interface IptablesSettings {
  /** The bit of the packet mark that says: masquerade this. */
  readonly masqueradeBit: number;
  /** Whether node ports answer on 127.0.0.1 too (IPv4 alone). */
  readonly localhostNodePorts: boolean;
  readonly backend: IptablesBackend;
}

const defaults: IptablesSettings = {
  masqueradeBit: 14,
  // v1alpha2 changed this one: see its field.
  localhostNodePorts: true,
  backend: "auto",
};

/** How that part stands in a file. */
export const iptablesConfig: ModeConfig<IptablesSettings, "iptables"> = {
  mode: "iptables",
  documentKind: "KubeProxyIPTablesConfiguration",
  doc: "Settings of the iptables mode",
  fields: {
    masqueradeBit: int32({
      default: defaults.masqueradeBit,
      doc: "Bit of the packet mark that marks packets to masquerade, 0 to 31.",
      rules: [range(0, 31)],
      upstream: "KubeProxyIPTablesConfiguration.MasqueradeBit",
    }),
    localhostNodePorts: flag({
      default: false,
      doc: "Whether node ports answer on 127.0.0.1 too (IPv4 alone).",
    }),
    backend: choice<IptablesBackend>(["auto", "legacy", "nft"], {
      default: defaults.backend,
      doc:
        "Which of iptables' backends holds the rules: auto takes the one that kubelet uses, else nft.",
    }),
  },
  defaults,
};
