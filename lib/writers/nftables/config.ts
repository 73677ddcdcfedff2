import { int32, range } from "../../base/fields.ts";
import type { ModeConfig } from "../writer.ts";

/** The part of the configuration that this mode owns. */
export interface NftablesSettings {
  /** The bit of the packet mark that says: masquerade this. */
  readonly masqueradeBit: number;
}

/** How that part stands in a file. */
export const nftablesConfig: ModeConfig<NftablesSettings> = {
  mode: "nftables",
  documentKind: "KubeProxyNFTablesConfiguration",
  doc: "Settings of the nftables mode",
  fields: {
    masqueradeBit: int32({
      default: 14,
      doc: "Bit of the packet mark that marks packets to masquerade, 0 to 31.",
      rules: [range(0, 31)],
      upstream: "KubeProxyNFTablesConfiguration.MasqueradeBit",
    }),
  },
};
