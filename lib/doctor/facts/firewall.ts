/** The rules of everybody, but for the many that a proxy makes for its Services. */
import { readFirewall, type ReadFirewallOptions } from "../../kernel/firewall/read_firewall.ts";
import type { FirewallTable } from "../../kernel/firewall/firewall.ts";
import { moduleState } from "../../kernel/inspection/module_inventory.ts";
import type { FactReader } from "../fact.ts";
import { isServiceChain, proxyTable } from "../judging/kube_names.ts";
import { known, unknown } from "./known.ts";
import { ofNodeNetwork } from "./rights.ts";

/** What the reader works with. */
export interface FirewallReaderOptions {
  readonly hostRoot: string;
  /** The kernel's; another one in tests. */
  readonly read?: (options: ReadFirewallOptions) => Promise<readonly FirewallTable[]>;
}

/** Reads them. Asks nf_tables only where it is there already: asking would load it. */
export function firewallReader(
  { hostRoot, read = readFirewall }: FirewallReaderOptions,
): FactReader<readonly FirewallTable[]> {
  return {
    // A thread is started for it, beside those of other facts.
    timeoutMs: 30_000,
    read: ofNodeNetwork(hostRoot, async ({ facts }) => {
      const modules = await facts.read("modules");
      if (modules.kind !== "value") return modules;
      const state = moduleState(modules.value, "nf_tables");
      if (state === "unknown" && modules.value.loaded !== undefined) {
        return unknown(
          "whether nf_tables is compiled in cannot be seen, and asking it might load it",
          'Mount the node\'s "/lib/modules", or use "--host-root".',
        );
      }
      return known(
        await read({
          asksNft: state !== "available" && state !== "missing",
          wantsRules: ({ name }, chain) => name !== proxyTable && !isServiceChain(chain),
        }),
      );
    }),
  };
}
