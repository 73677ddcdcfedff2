/** Access to ipset, the kernel's named sets of addresses and ports, as the rest of the program sees it. */
import type { IpFamily } from "../../base/ip_family.ts";

/** Kinds of sets that this program makes. */
export type IpsetType =
  | "hash:ip"
  | "hash:ip,port"
  | "hash:ip,port,ip"
  | "hash:ip,port,net"
  | "bitmap:port";

/** A set as it is made. Sets of ports alone belong to no family, and span all ports. */
export type IpsetDefinition =
  | { readonly name: string; readonly type: "bitmap:port" }
  | {
    readonly name: string;
    readonly type: Exclude<IpsetType, "bitmap:port">;
    readonly family: IpFamily;
  };

/** Longer names do not fit. */
export const MAX_SET_NAME = 31;
/** Of sets that are made here: the tool's own default. */
export const HASH_SIZE = 1024;
export const MAX_MEMBERS = 65_536;

/** A set that is there, whoever made it. */
export interface IpsetInfo {
  readonly name: string;
  /** Also one that this program does not make. */
  readonly type: string;
  /** Undefined for sets of no family. */
  readonly family: IpFamily | undefined;
  readonly memberCount: number;
  /** How many rules and other sets use it; such a set cannot be destroyed. */
  readonly references: number;
}

/**
 * One change. Members are text in the tool's words and canonical form, without spaces:
 * `10.0.0.1`, `10.0.0.1,tcp:80`, `10.0.0.1,tcp:80,10.0.0.1`, `10.0.0.1,tcp:80,10.0.0.0/8` (a single
 * address has no length), `30080`.
 * - `create`: what is there and is the same stays as it is, with its members.
 * - `destroy`: a set that is gone is fine.
 * - `add-members`: one that is there already is fine, and so is one that `delete-members` does not find.
 */
export type IpsetChange =
  | { readonly kind: "create"; readonly set: IpsetDefinition }
  | { readonly kind: "destroy" | "flush"; readonly name: string }
  | {
    readonly kind: "add-members" | "delete-members";
    readonly set: IpsetDefinition;
    readonly members: readonly string[];
  };

/**
 * Why a change was refused. `other-set`: a set of that name exists, of another type or family; `no-set`:
 * there is none; `busy`: something uses the set; `full`: no room for this member; `no-type`: the kernel
 * has no such type of sets; `other`: what the message says.
 */
export type IpsetRefusal = "other-set" | "no-set" | "busy" | "full" | "no-type" | "other";

/** What was refused: a change, or one member of it. */
export interface IpsetFailure {
  /** Index into the changes. */
  readonly change: number;
  /** Absent: the change as a whole. */
  readonly member?: string;
  readonly refusal: IpsetRefusal;
  /** A whole sentence that names set and member. */
  readonly message: string;
}

/**
 * The sets of a network namespace. Readers load nothing: where the kernel has no ipset loaded there are
 * no sets. `commit` loads it, and throws `KernelModuleError` when that does not work. All throw
 * `NetlinkError` for what the kernel refuses as a whole.
 */
export interface Ipset {
  /** Whether the kernel has ipset loaded. Asking loads nothing. */
  isLoaded(): boolean;
  /** All sets, without their members. */
  list(): readonly IpsetInfo[];
  /** As text, see `IpsetChange`. Undefined: no such set. Throws `RangeError` for a type that is none of `IpsetType`. */
  members(name: string): ReadonlySet<string> | undefined;
  /** The number by which rules hold the set; undefined: no such set. It is another one after a set was destroyed. */
  indexOf(name: string): number | undefined;
  /** The set that rules hold by this number. */
  nameOf(index: number): string | undefined;
  /**
   * Makes the changes in their order. Nothing is atomic here: what is refused is returned, and all the
   * rest is made, members beside a refused one too. Aborting stops between two messages, by a throw.
   */
  commit(
    changes: readonly IpsetChange[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly IpsetFailure[]>;
}
