/** The same facts for programs. Fields are added under the same schemaVersion, never changed. */
import type { NamespaceFacts } from "./facts.ts";
import type { Inventory } from "./inventory.ts";
import type { Action } from "./plan.ts";
import type { ProxyCount } from "./proxies.ts";

export type Result = "changed" | "failed" | "not-asked" | "refused" | "unchanged" | "would-change";

/** What became of one namespace. */
export interface Outcome {
  readonly name: string;
  readonly result: Result;
  /** Why, where it did not change. */
  readonly message: string | undefined;
  readonly facts: NamespaceFacts | undefined;
  readonly inventory: Inventory | undefined;
}

export interface ActionReport {
  readonly action: Action;
  readonly dryRun: boolean;
  readonly outcomes: readonly Outcome[];
  readonly proxies: ProxyCount | undefined;
}

/** The JSON of `opt-out` and `opt-in`. */
export function actionJson({ action, dryRun, outcomes, proxies }: ActionReport): string {
  const namespaces = outcomes.map(({ name, result, message, facts, inventory }) => ({
    name,
    result,
    ...(message === undefined ? {} : { message }),
    ...(facts ? factsValues(facts) : {}),
    ...(inventory ? { inventory: inventoryValues(inventory) } : {}),
  }));
  return jsonText({ action, dryRun, namespaces, proxies: proxyValues(proxies) });
}

/** A labelled namespace and, when it is out, what that saves. */
export interface Listed {
  readonly facts: NamespaceFacts;
  readonly inventory: Inventory | undefined;
}

/** The JSON of `list`. */
export function listJson(
  listed: readonly Listed[],
  total: { readonly inventory: Inventory; readonly proxies: ProxyCount | undefined },
): string {
  const values = ({ facts, inventory }: Listed) => ({
    name: facts.name,
    ...factsValues(facts),
    ...(inventory ? { inventory: inventoryValues(inventory) } : {}),
  });
  return jsonText({
    namespaces: listed.filter(({ facts }) => facts.optedOut).map(values),
    withoutEffect: listed.filter(({ facts }) => !facts.optedOut).map(values),
    savedPerNode: savings(total.inventory),
    proxies: proxyValues(total.proxies),
  });
}

function jsonText(values: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ schemaVersion: 1, ...values }, null, 2)}\n`;
}

function factsValues({ value, optedOut, managers, since }: NamespaceFacts) {
  return { optedOut, label: value ?? null, managers, since: since ?? null };
}

function inventoryValues(inventory: Inventory) {
  const { services, frontends, sessionAffinity, endpoints } = inventory;
  return { services, frontends, sessionAffinity, endpoints, savedPerNode: savings(inventory) };
}

function savings({ objects, programmedFrontends, programmedEndpoints }: Inventory) {
  return { objects, frontends: programmedFrontends, endpoints: programmedEndpoints };
}

/** null: nobody can know. */
function proxyValues(proxies: ProxyCount | undefined) {
  if (!proxies) return null;
  const { total, yes, no, unknown, unknownImages } = proxies;
  return { total, honour: yes, turnedOff: no, unknown, unknownImages };
}
