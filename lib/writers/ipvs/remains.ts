/** What of this mode is in the kernel, in both families, whoever made it. Reading loads and changes nothing. */
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import type { IpsetInfo } from "../../kernel/ipset/ipset.ts";
import type { IpvsEntry } from "../../kernel/ipvs/ipvs.ts";
import type { Link } from "../../kernel/links/links.ts";
import { type IpvsKernel, isWithin, ownership, rangesOf, readAddresses } from "./held.ts";
import { linkName, setOf, type SetRole, setRoles } from "./names.ts";

/** What is there of one family. */
export interface FamilyRemains {
  readonly family: IpFamily;
  /** Ours, and of nobody else. */
  readonly servers: readonly IpvsEntry[];
  /** Of the link. */
  readonly addresses: ReadonlySet<string>;
  /** All of our names, of whatever type. */
  readonly sets: readonly IpsetInfo[];
}

/** What is there of both. */
export interface Remains {
  readonly link: Link | undefined;
  readonly families: readonly FamilyRemains[];
}

/** Reads it. Servers within the ranges belong to somebody else. */
export function readRemains(kernel: IpvsKernel, excluded: readonly string[]): Remains {
  const { ipset, ipvs, links } = kernel;
  const all = ipset.list();
  const entries = ipvs.read();
  const ranges = rangesOf(excluded);
  const families = ipFamilies.map((family): FamilyRemains => {
    const { others, own } = readAddresses(kernel, family);
    const names = new Map(setRoles.map((role) => [setOf(role, family).name, role]));
    const sets = all.filter(({ name }) => names.has(name));
    const members = new Map<SetRole, ReadonlySet<string>>();
    for (const { name, type } of sets) {
      const role = names.get(name);
      // A set of our name and somebody else's type names nothing of ours.
      if (!role || type !== setOf(role, family).type) continue;
      members.set(role, ipset.members(name) ?? new Set());
    }
    const isOurs = ownership({ own, others, sets: members });
    const servers = entries.filter(({ server }) =>
      server.family === family && isOurs(server) && !isWithin(server.address, ranges)
    );
    return { family, servers, addresses: own, sets };
  });
  return { link: links.find(linkName), families };
}
