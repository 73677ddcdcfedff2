/** Refusals of nf_tables: which operation of a batch, in the kernel's own words. */
import { Errno } from "../errno.ts";
import { causeText, NetlinkError } from "../netlink/errors.ts";

/** One operation of a batch that the kernel refused. */
export interface BatchFailure {
  /** Index into the operations of whoever made the batch, or -1 for the batch as a whole. */
  readonly operation: number;
  /** For element operations: which element, where the kernel tells. */
  readonly element?: number;
  readonly errno: number;
  /** The kernel's own words (extended ack), or the errno's name. */
  readonly message: string;
}

/** A batch that the kernel refused: nothing of it was applied. */
export class NfTablesError extends Error {
  override readonly name = "NfTablesError";
  /** Every operation that was refused, in order; never empty. */
  readonly failures: readonly BatchFailure[];

  /** `describe` names an operation (and element) so that it completes "Cannot …". */
  constructor(failures: readonly BatchFailure[], describe: (failure: BatchFailure) => string) {
    const [first] = failures;
    const more = failures.length > 1 ? `; ${failures.length - 1} more operations failed` : "";
    const hint = hintFor(first);
    super(`Cannot ${describe(first)}: ${first.message}${hint}${more}`);
    this.failures = failures;
  }
}

/** Something that an operation names does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasErrno(error, [Errno.ENOENT]);
}

/** This process may not change nf_tables. */
export function isNotPermitted(error: unknown): boolean {
  return hasErrno(error, [Errno.EPERM, Errno.EACCES]);
}

/**
 * The kernel does not have nf_tables, told by what it answers to the opening of the socket, or to a
 * question without an argument: it knows no such subsystem then.
 */
export function lacksNfTables(error: unknown): boolean {
  return hasErrno(error, [
    Errno.EPROTONOSUPPORT,
    Errno.EAFNOSUPPORT,
    Errno.EOPNOTSUPP,
    Errno.EINVAL,
  ]);
}

/**
 * The answer of the kernel got lost or could not be sent (no memory, no buffer, interrupted): whether
 * the batch was applied has to be read back.
 */
export function isUncertain(error: unknown): boolean {
  return hasErrno(error, [Errno.ENOBUFS, Errno.ENOMEM, Errno.EINTR, Errno.EAGAIN]);
}

/** Somebody else was in the way, or the answer got lost: the same batch may pass in a moment. */
export function mayPass(error: unknown): boolean {
  return isUncertain(error) || hasErrno(error, [Errno.EBUSY, Errno.ERESTART]);
}

/** The cause of one failure, for `BatchFailure.message`. */
export function failureText(
  errno: number,
  { kernelMessage, expression }: {
    readonly kernelMessage?: string;
    readonly expression?: string;
  },
): string {
  const cause = causeText(errno, kernelMessage);
  if (expression === undefined) return cause;
  const module = errno === Errno.ENOENT ? moduleOf(expression) : undefined;
  const needs = module === undefined ? "" : ` (kernel module ${module})`;
  return `expression "${expression}"${needs}: ${cause}`;
}

/** What a kernel may lack that has nf_tables. Other expressions are part of it, and miss a set or a chain. */
const modules: ReadonlyMap<string, string> = new Map([
  ["ct", "nft_ct"],
  ["fib", "nft_fib_ipv4 or nft_fib_ipv6"],
  ["masq", "nft_masq"],
  ["nat", "nft_nat"],
  ["numgen", "nft_numgen"],
  ["reject", "nft_reject_ipv4 or nft_reject_ipv6"],
]);

/** Modules of xtables whose names are not those of what is in them. */
const xtModules: ReadonlyMap<string, string> = new Map([
  ["DNAT", "xt_nat"],
  ["MARK", "xt_mark"],
  ["REJECT", "ipt_REJECT or ip6t_REJECT"],
  ["tcp", "xt_tcpudp"],
  ["udp", "xt_tcpudp"],
]);

/** The module in which the kernel has an expression, so that an operator knows what to load. */
function moduleOf(expression: string): string | undefined {
  const [kind, name] = expression.split(" ");
  if (name === undefined) return modules.get(kind);
  return `nft_compat or ${xtModules.get(name) ?? `xt_${name}`}`;
}

function hintFor({ errno, operation }: BatchFailure): string {
  if (errno === Errno.EPERM || errno === Errno.EACCES) {
    return "; run as root or with CAP_NET_ADMIN";
  }
  if (errno === Errno.EMSGSIZE) return "; raise net.core.wmem_max, or run as root of the machine";
  if (errno === Errno.EOPNOTSUPP && operation <= 0) {
    return "; this kernel lacks nf_tables or its module is not loaded";
  }
  return "";
}

function hasErrno(error: unknown, errnos: readonly number[]): boolean {
  if (error instanceof NetlinkError) return errnos.includes(error.errno);
  return someFailure(error, ({ errno }) => errnos.includes(errno));
}

function someFailure(error: unknown, test: (failure: BatchFailure) => boolean): boolean {
  return error instanceof NfTablesError && error.failures.some(test);
}
