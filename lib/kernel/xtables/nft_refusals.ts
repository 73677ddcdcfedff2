/** What refusals of nf_tables mean for changes of iptables' rules. */
import type { IpFamily } from "../../base/ip_family.ts";
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import { type BatchFailure, NfTablesError } from "../nf_tables/errors.ts";
import { XtablesError } from "./errors.ts";
import type { XtChange } from "./rules.ts";
import type { XtFailure, XtRefusal } from "./xtables.ts";

/** The error of a refused batch in the words of its changes; any other error as it is. */
export function refusedChanges(
  error: unknown,
  { changes, family }: { readonly changes: readonly XtChange[]; readonly family: IpFamily },
): unknown {
  if (error instanceof NfTablesError) {
    const failures = error.failures.map((failure) => failureOf(failure, changes));
    return new XtablesError({ family, changes, failures, cause: error });
  }
  if (!hasErrno(error, Errno.EPERM)) return error;
  const failures = [{ change: -1, refusal: "not-permitted" as const, message: error.message }];
  return new XtablesError({ family, changes, failures, cause: error });
}

function failureOf(
  { errno, message, operation }: BatchFailure,
  changes: readonly XtChange[],
): XtFailure {
  const change = changes[operation];
  const isRule = change?.kind === "append-rule" || change?.kind === "insert-rule";
  const refusal = errno === Errno.ENOENT && isRule && lacksExtension(message) &&
      !change.rule.matches.some(({ kind }) => kind === "nfacct")
    ? "unsupported"
    : refusals[errno] ?? "other";
  return { change: operation, refusal, message };
}

/** A match or target that the kernel does not have "is not there", as a chain or a counter is not. */
function lacksExtension(message: string): boolean {
  return message.startsWith('expression "match') || message.startsWith('expression "target');
}

const refusals: Readonly<Record<number, XtRefusal>> = {
  [Errno.ENOENT]: "not-found",
  [Errno.EEXIST]: "exists",
  [Errno.EBUSY]: "busy",
  [Errno.EOPNOTSUPP]: "unsupported",
  [Errno.EPROTONOSUPPORT]: "unsupported",
  [Errno.EAFNOSUPPORT]: "unsupported",
  [Errno.ERESTART]: "stale",
  [Errno.EAGAIN]: "stale",
  [Errno.EPERM]: "not-permitted",
  [Errno.EACCES]: "not-permitted",
};
