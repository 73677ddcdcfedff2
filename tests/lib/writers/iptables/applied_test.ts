import assert from "node:assert/strict";
import type { ServicePort, ServicePortKey } from "../../../../lib/snapshot/snapshot.ts";
import { Applied } from "../../../../lib/writers/iptables/applied.ts";
import {
  contributionOf,
  emptyContribution,
} from "../../../../lib/writers/iptables/contribution.ts";
import { contextOf, everyShape } from "./samples.ts";

const context = contextOf("IPv4");
const shapes = everyShape("IPv4");

function nothing(): Applied {
  return new Applied({
    context,
    services: new Map(),
    owners: new Map<string, ServicePortKey>(),
    counts: new Map(),
    kept: new Set(),
  });
}

/** Takes note that the service port changed; undefined: that it was not there, or is gone. */
function note(
  applied: Applied,
  { after, before, key }: {
    readonly key: ServicePortKey;
    readonly before?: ServicePort;
    readonly after?: ServicePort;
  },
): void {
  const of = (each: ServicePort | undefined) =>
    each ? contributionOf(each, context) : emptyContribution;
  applied.changed({ key, before: of(before), after: of(after) }, after);
}

const figures = ({ counts, endpoints, owners, services }: Applied) => ({
  ...counts,
  endpoints,
  chains: owners.size,
  services: services.size,
});

Deno.test("Applied counts rules, chains and endpoints of what is there, however it came to be", () => {
  const once = nothing();
  for (const each of shapes) note(once, { key: each.key, after: each });
  const whole = figures(once);
  assert.ok(whole.nat > 0 && whole.filter > 0 && whole.endpoints > 0 && whole.chains > 0);
  for (const each of shapes) note(once, { key: each.key, before: each });
  assert.deepEqual(figures(once), figures(nothing()));
  for (const each of shapes) note(once, { key: each.key, after: each });
  assert.deepEqual(figures(once), whole, "what came back counts once");
  for (const each of shapes) note(once, { key: each.key, before: each, after: each });
  assert.deepEqual(figures(once), whole, "what changed too");
});
