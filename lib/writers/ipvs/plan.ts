/**
 * From what the kernel holds to what it shall hold, by name: all of it, or what a change touches. What
 * exists is edited. Pure.
 */
import type { IpsetChange } from "../../kernel/ipset/ipset.ts";
import type { IpvsChange, IpvsDestination, IpvsFrontend } from "../../kernel/ipvs/ipvs.ts";
import { destinationText, serverText } from "../../kernel/ipvs/text.ts";
import type { WantedServer } from "./contribution.ts";
import type { Held, HeldServer } from "./held.ts";
import { setOf, type SetRole, setRoles } from "./names.ts";
import type { Touched, Wanted } from "./wanted.ts";

/** A destination that is to go once its connections have ended. */
export interface Retiring {
  readonly server: IpvsFrontend;
  readonly destination: IpvsDestination;
}

/** What is to be done, in this order. The rules come between the sets and the servers. */
export interface Plan {
  /** Sets that are not there, and members. */
  readonly sets: readonly IpsetChange[];
  readonly servers: readonly IpvsChange[];
  readonly retiring: readonly Retiring[];
  readonly addressesToAdd: readonly string[];
  readonly addressesToRemove: readonly string[];
  readonly serversToRemove: readonly IpvsChange[];
  readonly membersToRemove: readonly IpsetChange[];
}

/** Everything where nothing is said to be touched. */
export function planOf(
  { held, touched, wanted }: {
    readonly wanted: Wanted;
    readonly held: Held;
    readonly touched?: Touched;
  },
): Plan {
  const servers = planServers(
    touched?.servers ?? union(wanted.servers.keys(), held.servers.keys()),
    { wanted, held },
  );
  const addresses = [...touched?.addresses ?? union(wanted.addresses.keys(), held.addresses)];
  return {
    ...planSets(wanted, held, touched),
    ...servers,
    addressesToAdd: addresses.filter((ip) => wanted.addresses.has(ip) && !held.addresses.has(ip)),
    addressesToRemove: addresses.filter((ip) =>
      !wanted.addresses.has(ip) && held.addresses.has(ip)
    ),
  };
}

/** Whether there is anything to do. Destinations that wait for their connections are none. */
export function isEmptyPlan(plan: Plan): boolean {
  return plan.sets.length === 0 && plan.servers.length === 0 &&
    plan.addressesToAdd.length === 0 && plan.addressesToRemove.length === 0 &&
    plan.serversToRemove.length === 0 && plan.membersToRemove.length === 0;
}

function planSets(
  wanted: Wanted,
  held: Held,
  touched: Touched | undefined,
): Pick<Plan, "sets" | "membersToRemove"> {
  const sets: IpsetChange[] = [];
  const membersToRemove: IpsetChange[] = [];
  for (const role of setRoles) {
    const set = setOf(role, wanted.context.family);
    const there = held.sets.get(role);
    if (!there) sets.push({ kind: "create", set });
    const names = touched ? touched.members.get(role) ?? [] : undefined;
    const missing = missingOf(role, { wanted, held, names });
    if (missing.length > 0) sets.push({ kind: "add-members", set, members: missing });
    const extra = [...names ?? there ?? []].filter((member) =>
      there?.has(member) && !wanted.members(role).has(member)
    );
    if (extra.length > 0) membersToRemove.push({ kind: "delete-members", set, members: extra });
  }
  return { sets, membersToRemove };
}

function missingOf(role: SetRole, { held, names, wanted }: {
  readonly wanted: Wanted;
  readonly held: Held;
  readonly names: Iterable<string> | undefined;
}): readonly string[] {
  const claims = wanted.members(role);
  const there = held.sets.get(role);
  return [...names ?? claims.keys()].filter((member) => claims.has(member) && !there?.has(member));
}

function planServers(
  names: Iterable<string>,
  { held, wanted }: { readonly wanted: Wanted; readonly held: Held },
): Pick<Plan, "servers" | "retiring" | "serversToRemove"> {
  const servers: IpvsChange[] = [];
  const retiring: Retiring[] = [];
  const serversToRemove: IpvsChange[] = [];
  for (const name of names) {
    const after = wanted.servers.get(name);
    const before = held.servers.get(name);
    if (after) {
      servers.push(...changesOf(before, after));
      if (before) retire(before, after, { servers, retiring });
    } else if (before) {
      serversToRemove.push({ kind: "delete-server", server: before.server });
    }
  }
  return { servers, retiring, serversToRemove };
}

/** The server and its destinations; those that are too many are left out. */
function changesOf(before: HeldServer | undefined, after: WantedServer): readonly IpvsChange[] {
  const { server } = after;
  const changes: IpvsChange[] = [];
  if (!before) changes.push({ kind: "add-server", server });
  else if (serverText(before.server) !== serverText(server)) {
    changes.push({ kind: "edit-server", server });
  }
  for (const [key, destination] of after.destinations) {
    const there = before?.destinations.get(key);
    if (!there) changes.push({ kind: "add-destination", server, destination });
    else if (destinationText(server, there) !== destinationText(server, destination)) {
      changes.push({ kind: "edit-destination", server, destination });
    }
  }
  return changes;
}

/** Connections of TCP may end by themselves, with a weight that brings no new ones. */
function retire(
  { destinations, server }: HeldServer,
  after: WantedServer,
  into: { readonly servers: IpvsChange[]; readonly retiring: Retiring[] },
): void {
  for (const [key, destination] of destinations) {
    if (after.destinations.has(key)) continue;
    if (server.protocol !== "tcp") {
      into.servers.push({ kind: "delete-destination", server, destination });
      continue;
    }
    const waiting = { ...destination, weight: 0 };
    if (destination.weight !== 0) {
      into.servers.push({ kind: "edit-destination", server, destination: waiting });
    }
    into.retiring.push({ server, destination: waiting });
  }
}

function union(a: Iterable<string>, b: Iterable<string>): ReadonlySet<string> {
  return new Set([...a, ...b]);
}
