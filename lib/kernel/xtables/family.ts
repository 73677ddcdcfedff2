/** What differs between the families on the wire. */
import type { IpFamily } from "../../base/ip_family.ts";

/** Facts about one address family. */
export interface XtFamilyFacts {
  readonly nfproto: number;
  readonly addressBytes: number;
  /** Where the addresses stand in the network header. */
  readonly sourceOffset: number;
  readonly destinationOffset: number;
  /** Where the protocol stands in the network header, if it always stands there. */
  readonly protocolOffset: number | undefined;
  /** `REJECT`'s number for an unreachable port. */
  readonly portUnreachable: number;
}

const facts: Readonly<Record<IpFamily, XtFamilyFacts>> = {
  IPv4: {
    nfproto: 2,
    addressBytes: 4,
    sourceOffset: 12,
    destinationOffset: 16,
    protocolOffset: 9,
    portUnreachable: 3,
  },
  IPv6: {
    nfproto: 10,
    addressBytes: 16,
    sourceOffset: 8,
    destinationOffset: 24,
    protocolOffset: undefined,
    portUnreachable: 4,
  },
};

/** The facts about a family. */
export function xtFamilyFacts(family: IpFamily): XtFamilyFacts {
  return facts[family];
}
