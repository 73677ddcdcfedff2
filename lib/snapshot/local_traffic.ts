/** How this node tells the traffic of its own pods from all other traffic. */
import { assertNever } from "../base/assert_never.ts";
import { parseCidr } from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { LocalTraffic } from "./snapshot.ts";

/** The configured way, with the values that it needs; `none` knows no local traffic. */
export type LocalTrafficSource =
  | { readonly kind: "none" }
  | { readonly kind: "cluster-cidr"; readonly clusterCIDRs: readonly string[] }
  | { readonly kind: "node-cidr"; readonly podCIDRs: readonly string[] }
  | { readonly kind: "bridge-interface"; readonly name: string }
  | { readonly kind: "interface-name-prefix"; readonly prefix: string };

/** For CIDRs the first one of the family counts; a family without one is `unknown`. */
export function resolveLocalTraffic(family: IpFamily, source: LocalTrafficSource): LocalTraffic {
  switch (source.kind) {
    case "none":
      return { kind: "unknown" };
    case "cluster-cidr":
      return firstOfFamily(family, source.clusterCIDRs);
    case "node-cidr":
      return firstOfFamily(family, source.podCIDRs);
    case "bridge-interface":
      return { kind: "interface", name: source.name };
    case "interface-name-prefix":
      return { kind: "interface-prefix", prefix: source.prefix };
    default:
      return assertNever(source);
  }
}

function firstOfFamily(family: IpFamily, cidrs: readonly string[]): LocalTraffic {
  for (const text of cidrs) {
    const cidr = parseCidr(text.trim());
    if (cidr?.family === family) return { kind: "source", cidr: cidr.text };
  }
  return { kind: "unknown" };
}
