import { deepEqual } from "../base/deep_equal.ts";
import type { EndpointSlice } from "../kube/objects.ts";
import type { NodeContext } from "../snapshot/build_service_port.ts";
import { buildServicePort } from "../snapshot/build_service_port.ts";
import type { ServicePort } from "../snapshot/snapshot.ts";
import type { Claims } from "./claims.ts";
import { collectCandidates } from "./collect_candidates.ts";
import type { ServiceRecord } from "./service_record.ts";

/** Everything known under one Service name: the Service, its slices, and what was made of them. */
export class ServiceEntry {
  readonly namespace: string;
  readonly name: string;
  record: ServiceRecord | undefined;
  /** What the last rebuild gave, in the record's order. */
  built: readonly ServicePort[] = [];
  #slices: EndpointSlice[] = [];
  /** So many ports were not yet looked at since the slices changed, from `#next` on and round. */
  #stale = 0;
  #next = 0;

  constructor(namespace: string, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  /** In the order of their names, so that duplicates are settled alike whatever came first. */
  get slices(): readonly EndpointSlice[] {
    return this.#slices;
  }

  /** Nothing is left that anybody could ask about. */
  get empty(): boolean {
    return this.record === undefined && this.#slices.length === 0 && this.built.length === 0;
  }

  /** Some endpoint carries a topology hint. */
  get hinted(): boolean {
    return this.#slices.some(({ endpoints }) =>
      endpoints.some(({ zoneHints, nodeHints }) => zoneHints.length > 0 || nodeHints.length > 0)
    );
  }

  /** How many endpoints a rebuild weighs, counted for each port. */
  get size(): number {
    const endpoints = this.#slices.reduce((sum, slice) => sum + slice.endpoints.length, 0);
    return (this.record?.ports.length ?? 0) * endpoints;
  }

  putSlice(slice: EndpointSlice): void {
    const at = this.#slices.findIndex(({ name }) => name >= slice.name);
    if (at < 0) this.#slices = [...this.#slices, slice];
    else this.#slices.splice(at, this.#slices[at].name === slice.name ? 1 : 0, slice);
  }

  removeSlice(name: string): void {
    this.#slices = this.#slices.filter((slice) => slice.name !== name);
  }

  /** The slices changed: every port has to be looked at. */
  endpointsChanged(): void {
    this.#stale = Infinity;
  }

  /** Not all ports were looked at since the slices changed. */
  get isStale(): boolean {
    return this.#stale > 0;
  }

  /** Decides all service ports anew. One that ends up equal stays the same object. */
  rebuild(claims: Claims, node: NodeContext): void {
    const { record } = this;
    this.#stale = 0;
    if (!record) {
      this.built = [];
      this.#next = 0;
      return;
    }
    const before = new Map(this.built.map((port) => [port.key, port]));
    this.built = record.ports.map((port) =>
      this.#build(record, port, { old: before.get(port.key), claims, node })
    );
  }

  /**
   * The same for the endpoints of some ports: so many that about `most` endpoints are weighed. Each call
   * goes on where the last one ended, so that slices which change all the time starve no port. Nothing
   * but slices may have changed since; of a Service that is new, service ports come part by part.
   */
  rebuildPart(most: number, claims: Claims, node: NodeContext): void {
    const { record } = this;
    const count = record?.ports.length ?? 0;
    const part = Math.max(1, Math.floor(most * count / Math.max(1, this.size)));
    const isBuilt = this.built.length === count || this.built.length === this.#next;
    if (!record || part >= count || !isBuilt) return this.rebuild(claims, node);
    const built = [...this.built];
    const end = this.#next + part;
    for (let i = this.#next; i < end; i++) {
      const at = i % count;
      built[at] = this.#build(record, record.ports[at], { old: built[at], claims, node });
    }
    this.built = built;
    this.#next = end % count;
    this.#stale = Math.max(0, Math.min(this.#stale, count) - part);
  }

  #build(
    record: ServiceRecord,
    port: ServiceRecord["ports"][number],
    { claims, node, old }: {
      readonly claims: Claims;
      readonly node: NodeContext;
      readonly old: ServicePort | undefined;
    },
  ): ServicePort {
    const candidates = collectCandidates(this.#slices, {
      portName: port.portName,
      protocol: port.protocol,
      nodeName: node.name,
      ...(old && { known: old.reachableEndpoints }),
    });
    const after = buildServicePort({
      service: record.spec,
      port,
      owned: claims.ownedBy(record.spec, port),
      candidates,
      node,
    });
    return old && deepEqual(old, after) ? old : after;
  }
}
