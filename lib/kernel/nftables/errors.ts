/** Refusals of nf_tables: which operation, on which object, in the kernel's own words. */
import { Errno } from "../errno.ts";
import { causeText, NetlinkError } from "../netlink/errors.ts";
import type { NftFailure } from "./nftables.ts";
import type { NftOperation, NftSet } from "./operations.ts";
import { keyText, ruleText, setKind } from "./text.ts";

/** A batch that the kernel refused: nothing of it was applied. */
export class NftablesError extends Error {
  override readonly name = "NftablesError";
  /** Every operation that was refused, in order; never empty. */
  readonly failures: readonly NftFailure[];

  /** `describe` names an operation (and element) so that it completes "Cannot …". */
  constructor(failures: readonly NftFailure[], describe: (failure: NftFailure) => string) {
    const [first] = failures;
    const more = failures.length > 1 ? `; ${failures.length - 1} more operations failed` : "";
    const hint = hintFor(first);
    super(`Cannot ${describe(first)}: ${first.message}${hint}${more}`);
    this.failures = failures;
  }
}

/** The kernel refused since the ruleset has another generation than the caller based its batch on. */
export function isStaleGeneration(error: unknown): boolean {
  return someFailure(error, ({ operation, errno }) => errno === Errno.ERESTART && operation === -1);
}

/** Something that an operation names does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasErrno(error, [Errno.ENOENT]);
}

/** Something else has that name or key already. */
export function isExists(error: unknown): boolean {
  return hasErrno(error, [Errno.EEXIST]);
}

/** Something that an operation deletes is in use. */
export function isBusy(error: unknown): boolean {
  return hasErrno(error, [Errno.EBUSY]);
}

/** This process may not change nf_tables. */
export function isNotPermitted(error: unknown): boolean {
  return hasErrno(error, [Errno.EPERM, Errno.EACCES]);
}

/** The kernel lacks nf_tables or something that an operation needs. */
export function isUnsupported(error: unknown): boolean {
  return hasErrno(error, [Errno.EOPNOTSUPP, Errno.EPROTONOSUPPORT, Errno.EAFNOSUPPORT]);
}

/**
 * The answer of the kernel got lost or could not be sent (no memory, no buffer, interrupted): whether
 * the batch was applied has to be read back.
 */
export function isUncertain(error: unknown): boolean {
  return hasErrno(error, [Errno.ENOBUFS, Errno.ENOMEM, Errno.EINTR, Errno.EAGAIN]);
}

/** The cause of one failure, for `NftFailure.message`. */
export function failureText(
  errno: number,
  { kernelMessage, expression }: {
    readonly kernelMessage?: string;
    readonly expression?: string;
  },
): string {
  const cause = causeText(errno, kernelMessage);
  return expression === undefined ? cause : `expression "${expression}": ${cause}`;
}

/** `add element 172.30.0.1 . tcp . 80 to map "service-ips"`. */
export function describeOperation(
  operation: NftOperation,
  { element, setOf }: {
    readonly element?: number;
    readonly setOf: (name: string) => NftSet | undefined;
  },
): string {
  const kindOf = (name: string) => {
    const set = setOf(name);
    return `${set ? setKind(set) : "set"} "${name}"`;
  };
  switch (operation.kind) {
    case "add-table":
      return "add table";
    case "delete-table":
      return "delete table";
    case "add-chain":
      return `add chain "${operation.chain.name}"`;
    case "flush-chain":
      return `flush chain "${operation.chain}"`;
    case "delete-chain":
      return `delete chain "${operation.chain}"`;
    case "add-rule":
      // The family only tells `ip` from `ip6` in the words of the rule.
      return `add rule to chain "${operation.rule.chain}" (${ruleText(operation.rule, "ip")})`;
    case "add-set":
      return `add ${setKind(operation.set)} "${operation.set.name}"`;
    case "delete-set":
      return `delete ${kindOf(operation.set)}`;
    case "flush-set":
      return `flush ${kindOf(operation.set)}`;
    case "add-elements":
    case "delete-elements": {
      const adds = operation.kind === "add-elements";
      const direction = `${adds ? "to" : "from"} ${kindOf(operation.set)}`;
      const one = element === undefined ? undefined : operation.elements[element];
      return one === undefined
        ? `${adds ? "add" : "delete"} ${operation.elements.length} elements ${direction}`
        : `${adds ? "add" : "delete"} element ${keyText(one.key)} ${direction}`;
    }
  }
}

function hintFor({ errno, operation }: NftFailure): string {
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

function someFailure(error: unknown, test: (failure: NftFailure) => boolean): boolean {
  return error instanceof NftablesError && error.failures.some(test);
}
