/** Which of its addresses this machine sends from by a route that names none. */
import { cidrContains, cidrOf, parseIp } from "../../base/ip.ts";
import type { InterfaceAddress, Route } from "./links.ts";

/** Of these addresses of the route's family: the one in the network of its gateway, else the first one on its link. */
export function outgoingAddress(
  { gateway, linkIndex }: Pick<Route, "gateway" | "linkIndex">,
  addresses: readonly InterfaceAddress[],
): string | undefined {
  const onLink = addresses.filter((each) => each.linkIndex === linkIndex);
  return (onLink.find((each) => isBeside(each, gateway)) ?? onLink[0])?.ip;
}

function isBeside({ ip, prefixLength }: InterfaceAddress, gateway: string | undefined): boolean {
  const [own, other] = [parseIp(ip), parseIp(gateway ?? "")];
  return own !== undefined && other !== undefined &&
    cidrContains(cidrOf(own, prefixLength), other);
}
