/** What the kernel holds of ours, as far as the writer knows. */
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import { countRules, type RuleCounts } from "./contribution.ts";
import type { ContributionChange } from "./plan.ts";
import type { RuleContext } from "./rules/context.ts";

export class Applied {
  readonly context: RuleContext;
  readonly services: Map<ServicePortKey, ServicePort>;
  /** The service port of each chain that one has of its own. */
  readonly owners: Map<string, ServicePortKey>;
  /** Stale chains, empty by now, that others' rules lead to. */
  readonly kept: ReadonlySet<string>;
  readonly #counts: Map<ServicePortKey, RuleCounts>;
  #endpoints = 0;
  #nat = 0;
  #filter = 0;

  constructor({ context, counts, kept, owners, services }: {
    readonly context: RuleContext;
    readonly services: Map<ServicePortKey, ServicePort>;
    readonly owners: Map<string, ServicePortKey>;
    readonly counts: Map<ServicePortKey, RuleCounts>;
    readonly kept: ReadonlySet<string>;
  }) {
    this.context = context;
    this.services = services;
    this.owners = owners;
    this.kept = kept;
    this.#counts = counts;
    for (const { endpointCount } of services.values()) this.#endpoints += endpointCount;
    for (const { filter, nat } of counts.values()) {
      this.#nat += nat;
      this.#filter += filter;
    }
  }

  /** Endpoints of all readiness, of all service ports. */
  get endpoints(): number {
    return this.#endpoints;
  }

  /** Rules of all service ports. */
  get counts(): RuleCounts {
    return { nat: this.#nat, filter: this.#filter };
  }

  /** Takes note of a committed change. */
  changed({ after, before, key }: ContributionChange, servicePort: ServicePort | undefined): void {
    for (const chain of before.own.keys()) this.owners.delete(chain);
    for (const chain of after.own.keys()) this.owners.set(chain, key);
    const old = this.#counts.get(key) ?? { nat: 0, filter: 0 };
    const counts = countRules(after);
    this.#nat += counts.nat - old.nat;
    this.#filter += counts.filter - old.filter;
    const had = this.services.get(key)?.endpointCount ?? 0;
    this.#endpoints += (servicePort?.endpointCount ?? 0) - had;
    if (servicePort) {
      this.services.set(key, servicePort);
      this.#counts.set(key, counts);
    } else {
      this.services.delete(key);
      this.#counts.delete(key);
    }
  }
}
