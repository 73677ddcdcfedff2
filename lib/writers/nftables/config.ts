import { int32, range } from "../../base/fields.ts";
import type { ModeConfig } from "../writer.ts";

/** The part of the configuration that this mode owns. */
export interface NftablesSettings {
  /** The bit of the packet mark that says: masquerade this. */
  readonly masqueradeBit: number;
}

const defaults: NftablesSettings = { masqueradeBit: 14 };

/** How that part stands in a file. */
export const nftablesConfig: ModeConfig<NftablesSettings, "nftables"> = {
  mode: "nftables",
  documentKind: "KubeProxyNFTablesConfiguration",
  doc: "Settings of the nftables mode",
  fields: {
    masqueradeBit: int32({
      default: defaults.masqueradeBit,
      doc: "Bit of the packet mark that marks packets to masquerade, 0 to 31.",
      rules: [range(0, 31)],
      upstream: "KubeProxyNFTablesConfiguration.MasqueradeBit",
    }),
  },
  defaults,
  // Upstream's choice for this mode alone: not on every address of the node unless that is asked for.
  nodePortAddresses: ["primary"],
};
