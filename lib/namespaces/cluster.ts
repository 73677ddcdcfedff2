/** The requests of the `namespaces` commands. What may be watched is told by the caller. */
import type { KubeClient } from "../kube/client.ts";
import type { Selection } from "../kube/query.ts";
import { endpointSlices, services } from "../kube/resource.ts";
import { ApiError } from "../kube/status.ts";
import { type NamespaceFacts, readNamespaceFacts, readNamespaceList } from "./facts.ts";
import { type Inventory, takeInventory } from "./inventory.ts";
import { fieldManager, optOutLabel, optOutValue } from "./label.ts";
import type { Action } from "./plan.ts";
import { type NodeProxy, proxyPods, readNodeProxies } from "./proxies.ts";

export interface ClusterOptions {
  readonly client: KubeClient;
  /** What proxies select of Services and EndpointSlices, so that the inventory counts the same. */
  readonly selectors: { readonly services: Selection; readonly endpointSlices: Selection };
  readonly signal: AbortSignal;
}

export interface WriteOptions {
  /** The apiserver checks everything and keeps nothing. */
  readonly dryRun: boolean;
}

const path = "/api/v1/namespaces";
const concurrency = 8;

/** A cluster as these commands see it. Its methods throw what the client throws. */
export class NamespaceCluster {
  readonly #options: ClusterOptions;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  /** Those of the names that exist. */
  async find(names: readonly string[]): Promise<ReadonlyMap<string, NamespaceFacts>> {
    const found = await this.#each([...new Set(names)], async (name) => {
      try {
        return readNamespaceFacts(await this.#get(`${path}/${encodeURIComponent(name)}`));
      } catch (error) {
        if (error instanceof ApiError && error.isNotFound) return undefined;
        throw error;
      }
    });
    return new Map(found.flatMap((facts) => facts ? [[facts.name, facts]] : []));
  }

  /** Every namespace. */
  async all(): Promise<readonly NamespaceFacts[]> {
    return readNamespaceList(await this.#get(path));
  }

  /** Every namespace that carries the label, whatever its value. */
  async labelled(): Promise<readonly NamespaceFacts[]> {
    const query = new URLSearchParams({ labelSelector: optOutLabel });
    return readNamespaceList(await this.#get(`${path}?${query}`));
  }

  /** What is in each of the namespaces, in their order. */
  inventories(
    names: readonly string[],
    onProgress: (done: number) => void = () => {},
  ): Promise<readonly Inventory[]> {
    const { client, selectors, signal } = this.#options;
    let done = 0;
    return this.#each(names, async (namespace) => {
      // Any version that the server holds in memory is good enough to count.
      const where = { namespace, resourceVersion: "0", signal };
      const [found, slices] = await Promise.all([
        client.list(services, { ...selectors.services, ...where }),
        client.list(endpointSlices, { ...selectors.endpointSlices, ...where }),
      ]);
      onProgress(++done);
      return takeInventory(found.objects, slices.objects);
    });
  }

  /** The nodes' proxies; undefined where nobody may see their pods. */
  async proxies(): Promise<readonly NodeProxy[] | undefined> {
    const query = new URLSearchParams({ labelSelector: proxyPods.labelSelector });
    try {
      const list = await this.#get(`/api/v1/namespaces/${proxyPods.namespace}/pods?${query}`);
      return readNodeProxies(list);
    } catch (error) {
      // It is a courtesy, and no reason to ask for another right.
      if (error instanceof ApiError && (error.isForbidden || error.isNotFound)) return undefined;
      throw error;
    }
  }

  /** Writes what the action means for the namespace; resolves to its new state. */
  async write(
    action: Action,
    facts: NamespaceFacts,
    options: WriteOptions,
  ): Promise<NamespaceFacts> {
    return readNamespaceFacts(
      action === "opt-out" ? await this.#apply(facts, options) : await this.#remove(facts, options),
    );
  }

  /** The uid keeps the apply from making the namespace anew if it is deleted at this moment. */
  #apply({ name, uid }: NamespaceFacts, options: WriteOptions): Promise<unknown> {
    const metadata = { name, uid, labels: { [optOutLabel]: optOutValue } };
    return this.#options.client.json({
      method: "PATCH",
      path: writePath(name, options),
      contentType: "application/apply-patch+yaml",
      body: { apiVersion: "v1", kind: "Namespace", metadata },
      signal: this.#options.signal,
    });
  }

  /** Whoever owns the label: an apply could give up our own part of it only. */
  #remove(facts: NamespaceFacts, options: WriteOptions): Promise<unknown> {
    const { name, resourceVersion } = facts;
    return this.#options.client.json({
      method: "PATCH",
      path: writePath(name, options),
      contentType: "application/merge-patch+json",
      body: { metadata: { resourceVersion, labels: { [optOutLabel]: null } } },
      signal: this.#options.signal,
    });
  }

  #get(target: string): Promise<unknown> {
    return this.#options.client.json({
      method: "GET",
      path: target,
      signal: this.#options.signal,
    });
  }

  /** A few at a time; the first failure ends it. */
  async #each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
    const results: R[] = Array.from({ length: items.length });
    const queue = items.entries();
    const worker = async () => {
      for (const [index, item] of queue) results[index] = await work(item);
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
    return results;
  }
}

function writePath(name: string, { dryRun }: WriteOptions): string {
  const query = new URLSearchParams({ fieldManager, ...(dryRun ? { dryRun: "All" } : {}) });
  return `${path}/${encodeURIComponent(name)}?${query}`;
}
