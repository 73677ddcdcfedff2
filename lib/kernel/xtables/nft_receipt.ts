/** What a commit of nf_tables gives, as one of iptables' rules. */
import type { Committed } from "../nf_tables/commit.ts";
import type { XtReceipt } from "./xtables.ts";

export function receiptOf({ receipt: { after, before } }: Pick<Committed, "receipt">): XtReceipt {
  return { before: String(before), after: String(after), isOwn: after === before + 1 };
}

/** Two commits as one: own where nobody wrote between them either. */
export function joinReceipts(first: XtReceipt, second: XtReceipt): XtReceipt {
  const isOwn = first.isOwn && second.isOwn && first.after === second.before;
  return { before: first.before, after: second.after, isOwn };
}
