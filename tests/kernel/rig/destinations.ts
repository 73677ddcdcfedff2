/** Addresses and ports of what a row of a table of fates is sent to. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import {
  clusterIP,
  externalIP,
  hostAddresses,
  loadBalancerIP,
  secondNodeAddress,
} from "../../scenarios/addresses.ts";
import { nodePortOf, type ServiceDescription } from "../../scenarios/description.ts";
import type { FateRow } from "../../scenarios/fate.ts";
import type { SocketAddress } from "./libc.ts";

/** No Service of any scenario has this number. */
const UNALLOCATED = 250;

export function destinationOf(
  { to, protocol }: FateRow,
  options: { readonly services: readonly ServiceDescription[]; readonly family: IpFamily },
): SocketAddress {
  const { services, family } = options;
  if (to.kind === "unallocated") return { address: clusterIP(UNALLOCATED)[family], port: to.port };
  const service = services.find((each) => each.name === to.service);
  if (service === undefined) throw new RangeError(`Cannot find service "${to.service}"`);
  switch (to.kind) {
    case "cluster-ip":
      return { address: clusterIP(service.number)[family], port: to.port };
    case "external-ip":
      return { address: externalIP(service.number)[family], port: to.port };
    case "load-balancer-ip":
      return { address: loadBalancerIP(service.number)[family], port: to.port };
    case "node-port": {
      const port = service.ports.find((each) =>
        each.port === to.port && each.protocol === protocol
      );
      if (port === undefined) {
        throw new RangeError(`Cannot find port ${to.port} of "${to.service}"`);
      }
      return { address: nodeAddress(to.at, family), port: nodePortOf(service, port) };
    }
  }
}

function nodeAddress(at: "first" | "second" | "loopback", family: IpFamily): string {
  if (at === "first") return hostAddresses.node[family];
  if (at === "second") return secondNodeAddress[family];
  return family === "IPv4" ? "127.0.0.1" : "::1";
}
