/** Refusals of iptables' rules as the search for their culprit knows them. */
import { Errno } from "../../kernel/errno.ts";
import type { BatchFailure } from "../../kernel/nf_tables/errors.ts";
import type { XtablesError } from "../../kernel/xtables/errors.ts";
import type { XtRefusal } from "../../kernel/xtables/xtables.ts";

const errnos: Readonly<Record<XtRefusal, number>> = {
  "not-found": Errno.ENOENT,
  "exists": Errno.EEXIST,
  "busy": Errno.EBUSY,
  "unsupported": Errno.EOPNOTSUPP,
  "stale": Errno.ERESTART,
  "locked": Errno.EAGAIN,
  "not-permitted": Errno.EPERM,
  "other": Errno.EINVAL,
};

/** The failures of the error, by the index of their change. */
export function batchFailuresOf({ failures }: XtablesError): readonly BatchFailure[] {
  return failures.map(({ change, message, refusal }) => ({
    operation: change,
    errno: errnos[refusal],
    message,
  }));
}
