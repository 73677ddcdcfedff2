/**
 * Writes to the kernel, and has what is held follow. Nothing is atomic here: what is refused is noted for
 * the service port that asked for it, and the rest goes on.
 */
import type { IpsetChange, IpsetFailure } from "../../kernel/ipset/ipset.ts";
import type { IpvsChange, IpvsFrontend, IpvsRefusal } from "../../kernel/ipvs/ipvs.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { AddressChange } from "../../kernel/links/links.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import { endpointKey } from "./contribution.ts";
import { type Held, type IpvsKernel, membersNaming } from "./held.ts";
import { linkName, setOf, type SetRole, setRoles } from "./names.ts";
import type { Wanted } from "./wanted.ts";

/** What is worked on. */
export interface Work {
  readonly wanted: Wanted;
  readonly held: Held;
  readonly signal: AbortSignal;
}

/** Everything but what goes by name alone. */
type SetChange = Extract<IpsetChange, { readonly set: unknown }>;

/** Refusals that show that somebody else wrote meanwhile. */
const surprises: readonly IpvsRefusal[] = ["exists", "no-server", "no-destination"];

/** A change with the text of its server. */
interface NamedChange {
  readonly change: IpvsChange;
  readonly name: string;
}

/** A server and its destinations come one after the other, with the same object. */
function named(changes: readonly IpvsChange[]): readonly NamedChange[] {
  let last: IpvsFrontend | undefined;
  let name = "";
  return changes.map((change) => {
    if (change.server !== last) name = frontendText(last = change.server);
    return { change, name };
  });
}

/** One pass over what is to be done. */
export class Hands {
  readonly #kernel: IpvsKernel;
  readonly #work: Work;
  readonly #roles: ReadonlyMap<string, SetRole>;
  /** Service ports of which something was refused, each with the first reason. */
  readonly refused = new Map<ServicePortKey, string>();
  /** Service ports without which a packet to them would not be treated as it should. */
  readonly #unready = new Set<ServicePortKey>();
  /** What was refused and is no service port's. */
  readonly complaints: string[] = [];
  /** Servers that somebody else made since the kernel was read, by their text. */
  readonly foreign: string[] = [];
  /** The kernel is not as it was read. */
  isSurprised = false;
  /** Messages that were sent. */
  written = 0;

  constructor(kernel: IpvsKernel, work: Work) {
    this.#kernel = kernel;
    this.#work = work;
    const { family } = work.wanted.context;
    this.#roles = new Map(setRoles.map((role) => [setOf(role, family).name, role]));
  }

  async changeSets(changes: readonly IpsetChange[]): Promise<void> {
    if (changes.length === 0) return;
    const failures = await this.#kernel.ipset.commit(changes, { signal: this.#work.signal });
    this.written += changes.length;
    const byChange = Map.groupBy(failures, ({ change }) => change);
    for (const [index, change] of changes.entries()) {
      if ("set" in change) this.#followSet(change, byChange.get(index) ?? []);
    }
  }

  /**
   * Takes members out of sets that nobody wants, but for those that name one of these servers which is
   * still there: the next process would not know it for ours.
   */
  async removeMembers(
    changes: readonly IpsetChange[],
    removedServers: readonly IpvsChange[],
  ): Promise<void> {
    const staying = removedServers.map(({ server }) => server)
      .filter((server) => this.#work.held.servers.has(frontendText(server)));
    if (staying.length === 0) return await this.changeSets(changes);
    const { family } = this.#work.wanted.context;
    const kept = new Set(
      staying.flatMap(membersNaming).map(({ member, role }) =>
        `${setOf(role, family).name} ${member}`
      ),
    );
    await this.changeSets(changes.flatMap((change): readonly IpsetChange[] => {
      if (!("members" in change)) return [change];
      const members = change.members.filter((each) => !kept.has(`${change.set.name} ${each}`));
      return members.length > 0 ? [{ ...change, members }] : [];
    }));
  }

  async changeServers(changes: readonly IpvsChange[]): Promise<void> {
    const { held, signal, wanted } = this.#work;
    const ready = named(changes).filter(({ change: { kind }, name }) => {
      const isNew = kind === "add-server" || !held.servers.has(name);
      if (!isNew) return true;
      const owner = wanted.servers.ownerOf(name);
      return owner === undefined || !this.#unready.has(owner);
    });
    if (ready.length === 0) return;
    const failures = await this.#kernel.ipvs.commit(ready.map(({ change }) => change), { signal });
    this.written += ready.length;
    const failed = new Set(failures.map(({ change }) => change));
    for (const [index, each] of ready.entries()) if (!failed.has(index)) this.#follow(each);
    const missing = new Set<string>();
    for (const { change, error, refusal } of failures) {
      const { change: { kind }, name } = ready[change];
      // Its destinations fail with it.
      if (missing.has(name)) continue;
      if (surprises.includes(refusal)) this.isSurprised = true;
      if (kind === "add-server" && refusal === "exists") this.foreign.push(name);
      const owner = wanted.servers.ownerOf(name);
      this.#refuse(owner, error.message);
      if (kind !== "add-server") continue;
      missing.add(name);
      if (owner !== undefined) this.#unready.add(owner);
    }
  }

  async addAddresses(addresses: readonly string[]): Promise<void> {
    const { held, wanted } = this.#work;
    const ready = addresses.filter((ip) => {
      const owner = wanted.addresses.ownerOf(ip);
      return owner === undefined || !this.#unready.has(owner);
    });
    if (!held.link) {
      held.link = this.#kernel.links.ensureDummy(linkName);
      this.written++;
    }
    await this.#changeAddresses("add", ready);
  }

  async removeAddresses(addresses: readonly string[]): Promise<void> {
    await this.#changeAddresses("delete", addresses);
  }

  async #changeAddresses(kind: AddressChange["kind"], addresses: readonly string[]): Promise<void> {
    const { held, signal, wanted } = this.#work;
    if (addresses.length === 0 || !held.link) return;
    const linkIndex = held.link.index;
    const prefixLength = wanted.context.family === "IPv4" ? 32 : 128;
    const changes = addresses.map((ip): AddressChange => ({ kind, linkIndex, ip, prefixLength }));
    const failures = await this.#kernel.links.changeAddresses(changes, { signal });
    this.written += changes.length;
    const failed = new Map(failures.map(({ change, error }) => [change, error]));
    for (const [index, ip] of addresses.entries()) {
      const error = failed.get(index);
      if (error) this.#refuse(wanted.addresses.ownerOf(ip), error.message);
      else if (kind === "add") held.addresses.add(ip);
      else held.addresses.delete(ip);
    }
  }

  #followSet(change: SetChange, failures: readonly IpsetFailure[]): void {
    const role = this.#roles.get(change.set.name);
    if (!role) return;
    const whole = failures.find(({ member }) => member === undefined);
    // Without a set no rule of ours can be written.
    if (whole) throw new Error(whole.message);
    const there = this.#work.held.sets.get(role) ?? new Set();
    this.#work.held.sets.set(role, there);
    if (!("members" in change)) return;
    const refused = new Set(failures.map(({ member }) => member));
    for (const member of change.members) {
      if (refused.has(member)) continue;
      if (change.kind === "add-members") there.add(member);
      else there.delete(member);
    }
    for (const { member, message } of failures) this.#refuseMember(role, member, message);
  }

  #follow({ change, name }: NamedChange): void {
    const { servers } = this.#work.held;
    const held = servers.get(name);
    switch (change.kind) {
      case "add-server":
        servers.set(name, { server: change.server, destinations: new Map() });
        break;
      case "edit-server":
        if (held) held.server = change.server;
        break;
      case "delete-server":
        servers.delete(name);
        break;
      case "add-destination":
      case "edit-destination":
        held?.destinations.set(endpointKey(change.destination), change.destination);
        break;
      case "delete-destination":
        held?.destinations.delete(endpointKey(change.destination));
    }
  }

  #refuseMember(role: SetRole, member: string | undefined, message: string): void {
    const owner = member === undefined
      ? undefined
      : this.#work.wanted.members(role).ownerOf(member);
    this.#refuse(owner, message);
    // Only what a pod sends to itself needs this one.
    if (owner !== undefined && role !== "loopBack") this.#unready.add(owner);
  }

  #refuse(owner: ServicePortKey | undefined, reason: string): void {
    if (owner === undefined) this.complaints.push(reason);
    else if (!this.refused.has(owner)) this.refused.set(owner, reason);
  }
}
