/** What differs between IPv4 and IPv6 on the wire. */
import type { NftFamily } from "./operations.ts";
import { TypeId } from "../nf_tables/wire.ts";

/** Facts about one address family. */
export interface FamilyFacts {
  readonly name: NftFamily;
  readonly nfproto: number;
  readonly addressBytes: number;
  readonly addressTypeId: number;
  /** Where the addresses stand in the network header. */
  readonly saddrOffset: number;
  readonly daddrOffset: number;
  /** ICMP code of "port unreachable". */
  readonly portUnreachable: number;
  /** nft's number for the IP header, and for the destination in it: parts of a `typeof`. */
  readonly typeofHeader: number;
  readonly typeofDaddr: number;
}

const facts: Readonly<Record<NftFamily, FamilyFacts>> = {
  ip: {
    name: "ip",
    nfproto: 2,
    addressBytes: 4,
    addressTypeId: TypeId.ipv4Addr,
    saddrOffset: 12,
    daddrOffset: 16,
    portUnreachable: 3,
    typeofHeader: 12,
    typeofDaddr: 12,
  },
  ip6: {
    name: "ip6",
    nfproto: 10,
    addressBytes: 16,
    addressTypeId: TypeId.ipv6Addr,
    saddrOffset: 8,
    daddrOffset: 24,
    portUnreachable: 4,
    typeofHeader: 13,
    typeofDaddr: 9,
  },
};

/** The facts about a family. */
export function familyFacts(family: NftFamily): FamilyFacts {
  return facts[family];
}

/** The family with that protocol number; undefined for inet, bridge, arp and netdev tables. */
export function familyOfNfproto(nfproto: number): NftFamily | undefined {
  if (nfproto === facts.ip.nfproto) return "ip";
  return nfproto === facts.ip6.nfproto ? "ip6" : undefined;
}
