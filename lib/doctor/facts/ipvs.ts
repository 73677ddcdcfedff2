/** IPVS and ipset, as far as they are loaded: nothing is asked that would load them. */
import {
  type IpvsState,
  readIpvsState,
  type VirtualServer,
} from "../../kernel/inspection/ipvs_text.ts";
import type { Ipset } from "../../kernel/ipset/ipset.ts";
import type { Ipvs, IpvsEntry } from "../../kernel/ipvs/ipvs.ts";
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { FactReader, Facts } from "../fact.ts";
import { absent, known } from "./known.ts";
import type { NamedSet } from "./node_values.ts";
import { ofNodeNetwork } from "./rights.ts";

/** What the reader of virtual servers works with. */
export interface IpvsReaderOptions {
  readonly files: KernelFiles;
  readonly hostRoot: string;
  readonly ipvs: Pick<Ipvs, "countMarkServers" | "read">;
}

/**
 * Reads virtual servers and their connections. The file of servers is not whole where other network
 * namespaces have servers too, so the kernel is asked for them where it answers.
 */
export function ipvsReader({ files, hostRoot, ipvs }: IpvsReaderOptions): FactReader<IpvsState> {
  return {
    read: async ({ facts }) => {
      const state = readIpvsState(files);
      if (!state) return absent("IPVS is not loaded");
      if (!await mayAsk(facts, hostRoot)) return known(state);
      const servers = ipvs.read().map(virtualServer);
      return known({ ...state, servers, markServers: ipvs.countMarkServers() });
    },
  };
}

/** Whether the node's IPVS answers this process. */
async function mayAsk(facts: Facts, hostRoot: string): Promise<boolean> {
  const rights = await facts.read("rights");
  return rights.kind === "value" && rights.value.hasNetAdmin &&
    (hostRoot === "" || rights.value.isInNodeNetwork === true);
}

function virtualServer({ destinations, server }: IpvsEntry): VirtualServer {
  return {
    protocol: server.protocol,
    address: server.address,
    port: server.port,
    scheduler: server.scheduler,
    persistentSeconds: server.persistenceSeconds ?? 0,
    destinations: destinations.length,
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
