/** What the table holds as far as the writer knows: the memory that makes a change cost what changed. */
import type { ServicePort, ServicePortKey, Snapshot } from "../../snapshot/snapshot.ts";
import type { Changes } from "../writer.ts";
import { inPlaces } from "./places.ts";
import type { ServiceChange } from "./plan.ts";
import type { RuleContext } from "./rules/statements.ts";
import type { TableLedger } from "./table_ledger.ts";

/** What was applied. */
export interface Applied {
  readonly services: Map<ServicePortKey, ServicePort>;
  /** Those of them whose endpoints have other places in the table than in their lists. */
  readonly placed: Map<ServicePortKey, ServicePort>;
  readonly context: RuleContext;
  readonly ledger: TableLedger;
}

/** The service port with its endpoints in the order of their places in the table. */
export function asWritten(
  { placed, services }: Pick<Applied, "placed" | "services">,
  key: ServicePortKey,
): ServicePort | undefined {
  return placed.get(key) ?? services.get(key);
}

/** What differs between what was applied and the snapshot, by key. */
export function changesOf(
  { services }: Applied,
  snapshot: Snapshot,
  changes: Changes,
): readonly ServiceChange[] {
  const keys = changes.kind === "some"
    ? [...changes.services]
    : [...new Set([...services.keys(), ...snapshot.services.keys()])];
  return keys
    .map((key): ServiceChange => ({
      key,
      before: services.get(key),
      after: snapshot.services.get(key),
    }))
    .filter(({ after, before }) => before !== after)
    .sort((a, b) => a.key < b.key ? -1 : 1);
}

/** The change as the table sees it: endpoints that stay keep their places. */
export function inTable({ placed }: Applied, change: ServiceChange): ServiceChange {
  const before = placed.get(change.key) ?? change.before;
  const after = change.after && before ? inPlaces(change.after, before) : change.after;
  return { ...change, before, after };
}

/** The changes are in force; `placed` is how the table sees them. */
export function remember(
  applied: Applied,
  changes: readonly ServiceChange[],
  placed: readonly ServiceChange[],
): void {
  for (const [i, { after, key }] of changes.entries()) {
    setOrDelete(applied.services, key, after);
    const inTable = placed[i].after;
    setOrDelete(applied.placed, key, inTable === after ? undefined : inTable);
  }
}

/** All service ports as they are after the changes; one that was skipped before is not among them. */
export function servicesAfter(
  { services }: Applied,
  changes: readonly ServiceChange[],
): Iterable<ServicePort> {
  const after = new Map(services);
  for (const change of changes) setOrDelete(after, change.key, change.after);
  return after.values();
}

function setOrDelete<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
