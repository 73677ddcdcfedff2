/** Interfaces, addresses and routes, and the sockets that are bound to them. */
import { type OpenSocket, readOpenSockets } from "../../kernel/inspection/open_sockets.ts";
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { Links } from "../../kernel/links/links.ts";
import type { FactReader } from "../fact.ts";
import { known } from "./known.ts";
import type { NodeNetwork } from "./node_values.ts";
import { ofNodeNetwork } from "./rights.ts";

/** Reads interfaces. */
export function networkReader(
  { hostRoot, links }: {
    readonly links: Pick<Links, "links" | "addresses" | "routes" | "routingRules">;
    readonly hostRoot: string;
  },
): FactReader<NodeNetwork> {
  return {
    read: ofNodeNetwork(hostRoot, () =>
      known({
        links: links.links(),
        addresses: links.addresses(),
        routes: links.routes(),
        routingRules: links.routingRules(),
      })),
  };
}

/** Reads sockets; of the node's first process below another root. */
export function socketsReader(files: KernelFiles): FactReader<readonly OpenSocket[]> {
  return { read: () => known(readOpenSockets(files)) };
}
