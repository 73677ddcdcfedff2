/** What refusals of iptables' rules mean for the next attempt. */
import { Errno } from "../../kernel/errno.ts";
import type { BatchFailure } from "../../kernel/nf_tables/errors.ts";
import type { XtChange } from "../../kernel/xtables/rules.ts";
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

/**
 * Chains that could not be deleted because a rule of somebody else leads to them. The tools of the older
 * engine do not say why a line failed; with nothing in a chain there is no other reason.
 */
export function chainsInUse(
  { failures }: XtablesError,
  changes: readonly XtChange[],
): readonly string[] {
  return failures.flatMap(({ change, refusal }) => {
    const refused = changes[change];
    const isUsed = refusal === "busy" || refusal === "other";
    return isUsed && refused?.kind === "delete-chain" ? [refused.chain] : [];
  });
}

/** The failures of the error, as the search for their culprit knows them, by the index of their change. */
export function batchFailuresOf({ failures }: XtablesError): readonly BatchFailure[] {
  return failures.map(({ change, message, refusal }) => ({
    operation: change,
    errno: errnos[refusal],
    message,
  }));
}
