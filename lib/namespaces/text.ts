/** What people read before they decide, and afterwards. */
import { countServices, type Frontends, type Inventory } from "./inventory.ts";
import type { Action, Step } from "./plan.ts";
import type { ProxyCount } from "./proxies.ts";

/** Addresses and ports beyond these are counted only. */
const shown = 4;
const labelWidth = 26;

/** A namespace that will change: what stops, or comes back, line by line. */
export function describeChange(
  action: Action,
  { name, remarks }: { readonly name: string; readonly remarks: readonly string[] },
  inventory: Inventory,
): string {
  const verb = action === "opt-out" ? "stops" : "comes back";
  const lines = [
    `${name}: what ${verb} on every node`,
    ...inventoryRows(inventory).map(([what, value]) => `  ${what.padEnd(labelWidth)}${value}`),
    `  ${(action === "opt-out" ? "saved per node" : "cost per node").padEnd(labelWidth)}${
      describeSavings(inventory)
    }`,
    ...remarks.map((remark) => `  Note: ${remark}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** `24 objects to receive and follow, 30 frontends and 72 endpoints to program` */
export function describeSavings(inventory: Inventory): string {
  return `${many(inventory.objects, "object")} to receive and follow, ` +
    `${many(inventory.programmedFrontends, "frontend")} and ` +
    `${many(inventory.programmedEndpoints, "endpoint")} to program`;
}

/** A namespace that stays as it is. */
export function describeKept({ facts, reason }: Extract<Step, { kind: "keep" }>): string {
  return `${facts.name}: nothing to do, it ${reason}\n`;
}

/** Which nodes' proxies follow the label, as far as anybody can know. */
export function describeProxies(count: ProxyCount | undefined): string {
  const upstream = "Upstream's kube-proxy does not know the label and goes on serving";
  if (!count || count.total === 0) {
    return `Nodes whose proxy honours the label: unknown. ${upstream}.\n`;
  }
  const parts = [
    `Nodes whose proxy honours the label: ${count.yes} of ${count.total}`,
    ...(count.no > 0 ? [`turned off by --namespace-opt-out=false: ${count.no}`] : []),
    ...(count.unknown > 0
      ? [`cannot be told: ${count.unknown} (${few(count.unknownImages)})`]
      : []),
  ];
  return `${parts.join("; ")}. ${upstream}.\n`;
}

/** A count and its noun: `1 Service`, `1,204 Services`. */
export function many(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

function inventoryRows(inventory: Inventory): readonly (readonly [string, string])[] {
  const { services, frontends, sessionAffinity, endpoints } = inventory;
  const types = Object.entries(services).filter(([, count]) => count > 0)
    .map(([type, count]) => `${count.toLocaleString("en-US")} ${type}`).join(", ");
  const total = countServices(inventory).toLocaleString("en-US");
  return [
    ["Services", types === "" ? "none" : `${total}: ${types}`],
    ...frontendRows(frontends),
    ...(sessionAffinity > 0
      ? [["session affinity", many(sessionAffinity, "Service")] as const]
      : []),
    ["endpoints", endpoints.toLocaleString("en-US")],
  ];
}

function frontendRows(frontends: Frontends): readonly (readonly [string, string])[] {
  const rows: readonly (readonly [string, readonly (string | number)[]])[] = [
    ["cluster IPs", frontends.clusterIPs],
    ["node ports", frontends.nodePorts],
    ["load balancer IPs", frontends.loadBalancerIPs],
    ["external IPs", frontends.externalIPs],
    ["health check node ports", frontends.healthCheckNodePorts],
  ];
  return rows.filter(([, values]) => values.length > 0)
    .map(([what, values]) => [what, `${values.length.toLocaleString("en-US")}: ${few(values)}`]);
}

function few(values: readonly (string | number)[]): string {
  const rest = values.length - shown;
  return values.slice(0, shown).join(", ") +
    (rest > 0 ? ` and ${rest.toLocaleString("en-US")} more` : "");
}
