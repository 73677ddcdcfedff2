/** Sets in memory. They refuse what the kernel refuses. */
import { assertNever } from "../../base/assert_never.ts";
import { Errno } from "../errno.ts";
import { KernelModuleError } from "../modules.ts";
import {
  IpsetErrno,
  ipsetRefusalOf,
  ipsetSentence,
  kindOfSet,
  otherSetSentence,
} from "./errors.ts";
import {
  type Ipset,
  type IpsetChange,
  type IpsetDefinition,
  type IpsetFailure,
  type IpsetInfo,
  MAX_MEMBERS,
  MAX_SET_NAME,
} from "./ipset.ts";
import { type IpsetMember, parseMember } from "./member.ts";

/** What a `FakeIpset` is; everything has a sensible default. */
export interface FakeIpsetOptions {
  readonly isLoaded?: boolean;
  /** Whether it could be loaded. */
  readonly isInstalled?: boolean;
  /** How many rules name a set; by default none does. */
  readonly countRules?: (name: string) => number;
}

interface FakeSet {
  readonly index: number;
  readonly definition: IpsetDefinition;
  readonly members: Set<string>;
}

/** What one change, or one member of it, is answered: an error number, or a finished failure. */
type Answer = number | Omit<IpsetFailure, "change">;

export class FakeIpset implements Ipset {
  /** How many rules name a set; whoever has rules says it. */
  countRules: (name: string) => number;
  readonly #isInstalled: boolean;
  readonly #sets = new Map<string, FakeSet>();
  readonly #commits: (readonly IpsetChange[])[] = [];
  #isLoaded: boolean;
  #nextIndex = 0;
  #fault: (change: IpsetChange, member: string | undefined) => number = () => 0;

  constructor(options: FakeIpsetOptions = {}) {
    this.#isLoaded = options.isLoaded ?? true;
    this.#isInstalled = options.isInstalled ?? true;
    this.countRules = options.countRules ?? (() => 0);
  }

  /** What was committed, oldest first, refused changes too. */
  get commits(): readonly (readonly IpsetChange[])[] {
    return this.#commits;
  }

  /** Changes, and members, for which the function gives an error number fail from now on. */
  refuse(fault: (change: IpsetChange, member: string | undefined) => number): void {
    this.#fault = fault;
  }

  /** A change by somebody else. Throws where the kernel would refuse it. */
  edit(changes: readonly IpsetChange[]): void {
    const [failure] = this.#applyAll(changes);
    if (failure) throw new Error(failure.message);
  }

  isLoaded(): boolean {
    return this.#isLoaded;
  }

  list(): readonly IpsetInfo[] {
    return [...this.#sets].map(([name, { definition, members }]) => ({
      name,
      type: definition.type,
      family: definition.type === "bitmap:port" ? undefined : definition.family,
      memberCount: members.size,
      references: this.countRules(name),
    }));
  }

  members(name: string): ReadonlySet<string> | undefined {
    const found = this.#sets.get(name);
    return found && new Set(found.members);
  }

  indexOf(name: string): number | undefined {
    return this.#sets.get(name)?.index;
  }

  nameOf(index: number): string | undefined {
    for (const [name, set] of this.#sets) if (set.index === index) return name;
    return undefined;
  }

  // deno-lint-ignore require-await -- what it throws becomes a rejection
  async commit(
    changes: readonly IpsetChange[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly IpsetFailure[]> {
    signal?.throwIfAborted();
    if (changes.length === 0) return [];
    if (!this.#isLoaded && !this.#isInstalled) {
      throw new KernelModuleError("change sets", { module: "ip_set" });
    }
    this.#isLoaded = true;
    this.#commits.push(changes);
    return this.#applyAll(changes);
  }

  #applyAll(changes: readonly IpsetChange[]): readonly IpsetFailure[] {
    return changes.flatMap((change, index) =>
      this.#apply(change).map((failure) => ({ change: index, ...failure }))
    );
  }

  #apply(change: IpsetChange): readonly Omit<IpsetFailure, "change">[] {
    const whole = this.#failureOf(change, this.#fault(change, undefined));
    if (whole.length > 0) return whole;
    switch (change.kind) {
      case "create":
        return this.#failureOf(change, this.#create(change));
      case "destroy":
        return this.#failureOf(change, this.#destroy(change.name));
      case "flush":
        this.#sets.get(change.name)?.members.clear();
        return this.#failureOf(change, this.#sets.has(change.name) ? 0 : Errno.ENOENT);
      case "add-members":
      case "delete-members":
        return this.#changeMembers(change);
      default:
        return assertNever(change);
    }
  }

  #changeMembers(
    change: Extract<IpsetChange, { members: readonly string[] }>,
  ): readonly Omit<IpsetFailure, "change">[] {
    const set = this.#sets.get(change.set.name);
    const parsed = change.members.map((member) => parseMember(member, change.set));
    if (!set) return this.#failureOf(change, change.members.length === 0 ? 0 : Errno.ENOENT);
    return change.members.flatMap((member, at) => {
      const errno = this.#fault(change, member) || faultOf(parsed[at], change.set) ||
        changeMember(set, change.kind, member);
      return this.#failureOf(change, errno, member);
    });
  }

  #create(change: Extract<IpsetChange, { kind: "create" }>): Answer {
    const { set } = change;
    const { name } = set;
    if (name.length > MAX_SET_NAME || name === "") return Errno.ERANGE;
    const found = this.#sets.get(name);
    if (found) {
      const kind = kindOfSet(found.definition);
      if (kind === kindOfSet(set)) return 0;
      return { refusal: "other-set", message: otherSetSentence(change, kind) };
    }
    this.#sets.set(name, { index: this.#nextIndex++, definition: set, members: new Set() });
    return 0;
  }

  #destroy(name: string): number {
    if (!this.#sets.has(name)) return 0;
    if (this.countRules(name) > 0) return IpsetErrno.busy;
    this.#sets.delete(name);
    return 0;
  }

  #failureOf(
    change: IpsetChange,
    answer: Answer,
    member?: string,
  ): readonly Omit<IpsetFailure, "change">[] {
    if (answer === 0) return [];
    if (typeof answer !== "number") return [answer];
    return [{
      ...(member !== undefined && { member }),
      refusal: ipsetRefusalOf(answer, change),
      message: ipsetSentence(change, answer, member),
    }];
  }
}

/** What the kernel finds wrong with a member. */
function faultOf({ address, prefixLength }: IpsetMember, { type }: IpsetDefinition): number {
  if (prefixLength === 0) return IpsetErrno.invalidLength;
  const isZero = address?.length === 4 && address.every((byte) => byte === 0);
  return type === "hash:ip" && isZero ? IpsetErrno.hashElement : 0;
}

function changeMember(
  { definition, members }: FakeSet,
  kind: "add-members" | "delete-members",
  member: string,
): number {
  if (kind === "delete-members") {
    members.delete(member);
    return 0;
  }
  if (members.has(member)) return 0;
  if (definition.type !== "bitmap:port" && members.size >= MAX_MEMBERS) return IpsetErrno.hashFull;
  members.add(member);
  return 0;
}
