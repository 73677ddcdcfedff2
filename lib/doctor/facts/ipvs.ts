/** IPVS and ipset, as far as they are loaded: nothing is asked that would load them. */
import { type IpvsState, readIpvsState } from "../../kernel/inspection/ipvs_text.ts";
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { Ipset } from "../../kernel/ipset/ipset.ts";
import type { FactReader } from "../fact.ts";
import { absent, known } from "./known.ts";
import type { NamedSet } from "./node_values.ts";
import { ofNodeNetwork } from "./rights.ts";

/** Reads virtual servers and their connections. */
export function ipvsReader(files: KernelFiles): FactReader<IpvsState> {
  return {
    read: () => {
      const state = readIpvsState(files);
      return state ? known(state) : absent("IPVS is not loaded");
    },
  };
}

/** Reads how many members each set has. */
export function ipsetsReader(
  { hostRoot, ipset }: {
    readonly ipset: Pick<Ipset, "isLoaded" | "list">;
    readonly hostRoot: string;
  },
): FactReader<readonly NamedSet[]> {
  return {
    read: ofNodeNetwork(hostRoot, () => {
      if (!ipset.isLoaded()) return absent("ipset is not loaded");
      return known(ipset.list().map(({ memberCount, name }) => ({ name, members: memberCount })));
    }),
  };
}
