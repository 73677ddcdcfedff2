import { deepEqual } from "../base/deep_equal.ts";
import type { WatchBatch } from "../kube/object_batch.ts";
import type { Node } from "../kube/objects.ts";
import { hostIPs } from "../snapshot/node_ips.ts";
import { foldBatch } from "./fold_batch.ts";

/** Follows the one Node that this proxy runs on, among however many the source tells. */
export class NodeTracker {
  readonly #name: string;
  #node: Node | undefined;
  #otherName: string | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** True when something of the own Node changed, or it came or went. */
  apply(batch: WatchBatch<Node>): boolean {
    return foldBatch(batch, {
      upsert: (node) => {
        if (node.name !== this.#name) this.#otherName ??= node.name;
        if (node.name !== this.#name || sameNode(this.#node, node)) return false;
        this.#node = node;
        return true;
      },
      remove: (_namespace, name) => {
        if (name !== this.#name || !this.#node) return false;
        this.#node = undefined;
        return true;
      },
      held: () => this.#node ? [this.#node] : [],
    });
  }

  /** Undefined while the Node is unknown or after it was deleted. */
  get node(): Node | undefined {
    return this.#node;
  }

  /** The name of the first Node of another name that the source told of: perhaps the own one is meant. */
  get otherName(): string | undefined {
    return this.#otherName;
  }

  /** The first address and the first of the other family; empty while none is known. */
  get hostIPs(): readonly string[] {
    return hostIPs(this.#node?.addresses ?? []);
  }
}

function sameNode(a: Node | undefined, b: Node): boolean {
  // Each heartbeat of a kubelet is a new version of the object that says nothing new.
  return a !== undefined && deepEqual({ ...a, resourceVersion: "" }, { ...b, resourceVersion: "" });
}
