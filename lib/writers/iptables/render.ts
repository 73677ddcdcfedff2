/** The rules as `iptables-restore` reads them: for `--dry-run`, for people, and as the oracle of the tests. */
import { toolOf, type XtChange } from "../../kernel/xtables/rules.ts";
import { changesText } from "../../kernel/xtables/text.ts";
import type { XtReading } from "../../kernel/xtables/xtables.ts";
import { type Desired, FullPlan, sortedByKey } from "./full_plan.ts";

/** Tables that nobody has touched. */
const emptyTables: XtReading = {
  chains: [],
  rules: () => Promise.resolve(new Map()),
  differing: (_, wanted) => Promise.resolve([...wanted.keys()]),
};

/** For tests: the changes that make everything where there is nothing, in the order of their commit. */
export async function firstLoad(desired: Desired): Promise<readonly XtChange[]> {
  const changes: XtChange[] = [];
  const services = sortedByKey(desired.services);
  const plan = new FullPlan({ ...desired, services }, emptyTables, { leavesPerBatch: Infinity });
  for await (const batch of plan.batches()) {
    // More than fit on the stack.
    for (const change of batch.changes) changes.push(change);
  }
  return changes;
}

/** What a first sync writes, as text for the tool that its first line names. */
export async function renderText(desired: Desired): Promise<string> {
  const { family } = desired.context;
  const tool = `# ${toolOf(family)}-restore --noflush\n`;
  return tool + changesText(await firstLoad(desired), family);
}
