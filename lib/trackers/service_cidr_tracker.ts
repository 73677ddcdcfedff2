import { parseCidr } from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { WatchBatch } from "../kube/object_batch.ts";
import type { ServiceCIDR } from "../kube/objects.ts";
import { deepEqual } from "../base/deep_equal.ts";
import { foldBatch } from "./fold_batch.ts";

/**
 * The ranges out of which cluster IPs come, counted by object: a range that two objects name stays
 * until both are gone.
 */
export class ServiceCidrTracker {
  readonly #objects = new Map<string, ServiceCIDR>();

  /** True when an object's ranges changed. */
  apply(batch: WatchBatch<ServiceCIDR>): boolean {
    return foldBatch(batch, {
      upsert: (object) => {
        const before = this.#objects.get(object.name);
        this.#objects.set(object.name, object);
        return !deepEqual(before?.cidrs, object.cidrs);
      },
      remove: (_namespace, name) => this.#objects.delete(name),
      held: () => this.#objects.values(),
    });
  }

  /** Canonical and masked, each once, sorted. */
  cidrsOf(family: IpFamily): readonly string[] {
    const cidrs = new Set<string>();
    for (const object of this.#objects.values()) {
      for (const text of object.cidrs) {
        const cidr = parseCidr(text);
        if (cidr?.family === family) cidrs.add(cidr.text);
      }
    }
    return [...cidrs].sort();
  }
}
