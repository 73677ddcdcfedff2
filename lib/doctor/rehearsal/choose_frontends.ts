/** Which frontends a packet is sent to, where there are more than can be tried in a moment. */
import { listOf } from "../../base/list_of.ts";
import type { Frontend } from "./frontends.ts";

/** All of them, or as many of each kind as there is room for, in their order. */
export function chooseFrontends(frontends: readonly Frontend[], most: number): readonly Frontend[] {
  if (frontends.length <= most) return frontends;
  const groups = new Map<string, Frontend[]>();
  for (const frontend of frontends) listOf(groups, groupOf(frontend)).push(frontend);
  // Small groups first: what they leave of their share is for the others.
  const bySize = [...groups.values()].sort((a, b) => a.length - b.length);
  const chosen = new Set<Frontend>();
  bySize.forEach((group, i) => {
    const share = Math.max(1, Math.floor((most - chosen.size) / (bySize.length - i)));
    for (const frontend of spread(group, share)) chosen.add(frontend);
  });
  return frontends.filter((frontend) => chosen.has(frontend)).slice(0, most);
}

/** What the rules treat alike. */
function groupOf({ kind, protocol, service }: Frontend): string {
  const { affinitySeconds, external, externalPolicyLocal, internal, internalPolicyLocal } = service;
  const fate = kind === "cluster IP" ? internal : external;
  const isLocal = kind === "cluster IP" ? internalPolicyLocal : externalPolicyLocal;
  const hasRanges = kind === "load balancer" && service.sourceRanges.length > 0;
  return [kind, protocol, fate, isLocal, affinitySeconds > 0, hasRanges].join(" ");
}

function spread<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, i) => items[Math.floor((i * items.length) / count)]);
}
