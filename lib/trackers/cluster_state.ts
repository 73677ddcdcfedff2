/**
 * Everything the proxy knows of its cluster and its node, as one `FamilyState` per family: feeds both
 * from the same watchers, and decides the settings that come out of Node, ServiceCIDRs and interfaces.
 */
import { ipFamilies, type IpFamily } from "../base/ip_family.ts";
import type { WatchBatch } from "../kube/object_batch.ts";
import type { EndpointSlice, Namespace, Node, Service, ServiceCIDR } from "../kube/objects.ts";
import type { NodeContext } from "../snapshot/build_service_port.ts";
import { type LocalTrafficSource, resolveLocalTraffic } from "../snapshot/local_traffic.ts";
import { detectNodeIPs, knownNodeIP, type NodeIPs } from "../snapshot/node_ips.ts";
import { resolveNodePortAddresses } from "../snapshot/node_port_addresses.ts";
import type { FamilySettings } from "../snapshot/snapshot.ts";
import { FamilyState } from "./family_state.ts";
import { NodeTracker } from "./node_tracker.ts";
import { NoticeBook, type TrackerNotice } from "./notice_book.ts";
import { OptedOutNamespaces } from "./opted_out_namespaces.ts";
import { ServiceCidrTracker } from "./service_cidr_tracker.ts";
import { sliceSubject } from "./usable_slice.ts";

/** How local traffic is told, as configured; pod CIDRs come from the Node. */
export type LocalTrafficMode =
  | Exclude<LocalTrafficSource, { readonly kind: "node-cidr" }>
  | { readonly kind: "node-cidr" };

/** What stays as it is for the life of the process. */
export interface ClusterStateOptions {
  /** The families this node can serve. */
  readonly families: readonly IpFamily[];
  readonly nodeName: string;
  /** An address here is the node's in its family, whatever the Node says; the first one's family is primary. */
  readonly nodeIPOverride: readonly string[];
  readonly masqueradeAll: boolean;
  readonly localTraffic: LocalTrafficMode;
  /** CIDRs and keywords. */
  readonly nodePortAddresses: readonly string[];
  /** Where node ports answer on all addresses, the settings list them; false when absent. */
  readonly listsAllAddresses?: boolean;
  /** True when absent. */
  readonly allowExternalIPs?: boolean;
  /** Trigger times from before this moment are of no interest. */
  readonly startedMs: number;
}

/**
 * Each `apply…` and `set…` tells the families for which a sync may have something to do that it had not
 * before, and is true when there is one.
 */
export class ClusterState {
  readonly families: ReadonlyMap<IpFamily, FamilyState>;
  readonly #options: ClusterStateOptions;
  readonly #notices = new NoticeBook();
  readonly #nodes: NodeTracker;
  readonly #serviceCIDRs = new ServiceCidrTracker();
  readonly #namespaces = new OptedOutNamespaces();
  #interfaceAddresses: readonly string[] = [];
  #standIns: readonly string[] = [];
  #leftovers = false;

  constructor(options: ClusterStateOptions) {
    this.#options = options;
    this.#nodes = new NodeTracker(options.nodeName);
    const families = ipFamilies.filter((family) => options.families.includes(family));
    this.families = new Map(families.map((family) => [
      family,
      new FamilyState({
        family,
        node: this.#nodeContext(family),
        settings: this.#settings(family),
        startedMs: options.startedMs,
        allowExternalIPs: options.allowExternalIPs ?? true,
        notices: this.#notices,
      }),
    ]));
  }

  applyServices(batch: WatchBatch<Service>): boolean {
    return this.#forEach((state) => state.applyServices(batch));
  }

  applyEndpointSlices(batch: WatchBatch<EndpointSlice>): boolean {
    this.#noteForeignTypes(batch);
    return this.#forEach((state) => state.applyEndpointSlices(batch));
  }

  applyNodes(batch: WatchBatch<Node>): boolean {
    return this.#nodes.apply(batch) && this.#refresh();
  }

  applyServiceCIDRs(batch: WatchBatch<ServiceCIDR>): boolean {
    return this.#serviceCIDRs.apply(batch) && this.#refresh();
  }

  /** Drops what opted-out namespaces hold. One that comes back needs a `replace` of its objects. */
  applyNamespaces(batch: WatchBatch<Namespace>): boolean {
    if (!this.#namespaces.apply(batch)) return false;
    const { names } = this.#namespaces;
    return this.#forEach((state) => state.setOptedOut(names));
  }

  /**
   * All addresses of all interfaces, of either family, and those that stand in for the node's while no
   * Node tells any: at most one of each family, of the primary one first.
   */
  setInterfaceAddresses(addresses: readonly string[], standIns: readonly string[] = []): boolean {
    this.#interfaceAddresses = addresses;
    this.#standIns = standIns;
    return this.#refresh();
  }

  /** Whether rules of another proxy mode are loaded in this kernel. */
  setLeftovers(leftovers: boolean): boolean {
    this.#leftovers = leftovers;
    return this.#refresh();
  }

  /** Everything is known for the first time: there is something to sync even where all is empty. */
  complete(): void {
    this.#forEach(() => true);
  }

  /** The own Node, or undefined while it is unknown. */
  get node(): Node | undefined {
    return this.#nodes.node;
  }

  /** A Node of another name that the source told of. */
  get otherNodeName(): string | undefined {
    return this.#nodes.otherName;
  }

  /** The node's addresses; loopback in a family where none is known. */
  get nodeIPs(): NodeIPs {
    const { hostIPs } = this.#nodes;
    const own = hostIPs.length > 0 ? hostIPs : this.#standIns;
    return detectNodeIPs(own, this.#options.nodeIPOverride);
  }

  /** What an operator should read, since the last call. */
  takeNotices(): readonly TrackerNotice[] {
    return this.#notices.take();
  }

  #refresh(): boolean {
    return this.#forEach((state) => {
      const node = state.setNode(this.#nodeContext(state.family));
      const settings = state.setSettings(this.#settings(state.family));
      return node || settings;
    });
  }

  #nodeContext(family: IpFamily): NodeContext {
    const ip = knownNodeIP(this.nodeIPs, family);
    const place = { name: this.#options.nodeName, zone: this.#nodes.node?.zone ?? "" };
    return ip ? { ...place, ip } : place;
  }

  #settings(family: IpFamily): FamilySettings {
    return {
      masqueradeAll: this.#options.masqueradeAll,
      localTraffic: resolveLocalTraffic(family, this.#localTrafficSource()),
      nodePortAddresses: resolveNodePortAddresses(family, {
        configured: this.#options.nodePortAddresses,
        nodeIP: knownNodeIP(this.nodeIPs, family),
        interfaceAddresses: this.#interfaceAddresses,
        listsAll: this.#options.listsAllAddresses ?? false,
      }),
      serviceCIDRs: this.#serviceCIDRs.cidrsOf(family),
      leftovers: this.#leftovers,
    };
  }

  #localTrafficSource(): LocalTrafficSource {
    const mode = this.#options.localTraffic;
    return mode.kind === "node-cidr"
      ? { kind: "node-cidr", podCIDRs: this.#nodes.node?.podCIDRs ?? [] }
      : mode;
  }

  /** A type that no family has is worth a word; slices of a family that does not run are not. */
  #noteForeignTypes(batch: WatchBatch<EndpointSlice>): void {
    if (batch.kind === "replace") {
      for (const slice of batch.objects) this.#noteForeignType(slice);
      return;
    }
    for (const change of batch.changes) {
      if (change.kind === "upsert") this.#noteForeignType(change.object);
      else this.#notices.forget(sliceSubject(change.namespace, change.name));
    }
  }

  #noteForeignType({ namespace, name, addressType }: EndpointSlice): void {
    if (addressType === "IPv4" || addressType === "IPv6") return;
    const subject = sliceSubject(namespace, name);
    const message = `${subject}: its address type "${addressType}" is not proxied`;
    this.#notices.add({ subject, topic: "address-type", message });
  }

  #forEach(apply: (state: FamilyState) => boolean): boolean {
    let changed = false;
    for (const state of this.families.values()) {
      if (!apply(state)) continue;
      changed = true;
      state.changed();
    }
    return changed;
  }
}
