/** Everything that the kernel shall hold of one family, and what of it a change touches. Pure. */
import { setOf } from "../../base/list_of.ts";
import { ruleText } from "../../kernel/xtables/text.ts";
import type { XtRule } from "../../kernel/xtables/rules.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import { Claims } from "./claims.ts";
import type { Contribution, IpvsContext, WantedServer } from "./contribution.ts";
import { type SetRole, setRoles } from "./names.ts";

/** What a change is about, by the names of the things. */
export interface Touched {
  readonly servers: ReadonlySet<string>;
  readonly addresses: ReadonlySet<string>;
  readonly members: ReadonlyMap<SetRole, ReadonlySet<string>>;
}

export class Wanted {
  readonly context: IpvsContext;
  readonly servers = new Claims<WantedServer>();
  readonly addresses = new Claims<true>();
  /** By their text. */
  readonly outRules = new Claims<XtRule>();
  readonly #members: ReadonlyMap<SetRole, Claims<true>> = new Map(
    setRoles.map((role) => [role, new Claims<true>()]),
  );

  constructor(context: IpvsContext) {
    this.context = context;
  }

  members(role: SetRole): Claims<true> {
    return this.#members.get(role)!;
  }

  /** A service port asks for other things than before; undefined: it is not there. */
  change(
    key: ServicePortKey,
    { after, before }: {
      readonly before: Contribution | undefined;
      readonly after: Contribution | undefined;
    },
  ): void {
    if (before) this.#release(key, before);
    if (after) this.#claim(key, after);
  }

  #release(key: ServicePortKey, { addresses, members, outRules, servers }: Contribution): void {
    for (const name of servers.keys()) this.servers.release(name, key);
    for (const ip of addresses) this.addresses.release(ip, key);
    for (const { member, role } of members) this.members(role).release(member, key);
    for (const rule of outRules) this.outRules.release(this.#textOf(rule), key);
  }

  #claim(key: ServicePortKey, { addresses, members, outRules, servers }: Contribution): void {
    for (const [name, server] of servers) this.servers.claim(name, key, server);
    for (const ip of addresses) this.addresses.claim(ip, key, true);
    for (const { member, role } of members) this.members(role).claim(member, key, true);
    for (const rule of outRules) this.outRules.claim(this.#textOf(rule), key, rule);
  }

  #textOf(rule: XtRule): string {
    return ruleText(rule, this.context.family);
  }
}

/** All that these contributions name. */
export function touchedBy(contributions: Iterable<Contribution>): Touched {
  const servers = new Set<string>();
  const addresses = new Set<string>();
  const members = new Map<SetRole, Set<string>>();
  for (const contribution of contributions) {
    for (const name of contribution.servers.keys()) servers.add(name);
    for (const ip of contribution.addresses) addresses.add(ip);
    for (const { member, role } of contribution.members) {
      setOf(members, role).add(member);
    }
  }
  return { servers, addresses, members };
}
