/**
 * This node as the source tells it: waited for before anything else, and then watched for changes that
 * only a restart takes in.
 */
import { linkAbort } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { DetectLocalMode } from "../config/internal.ts";
import type { Node } from "../kube/objects.ts";
import { hostIPs } from "../snapshot/node_ips.ts";

/** Whose Node is guarded, and what of it counts. */
export interface NodeGuardOptions {
  readonly nodeName: string;
  readonly detectLocalMode: DetectLocalMode;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The Node as it is known now. */
  readonly current: () => Node | undefined;
}

/** Between two looks, as upstream. */
const pollMs = 1_000;
const addressWaitMs = 30_000;
const podCidrWaitMs = 5 * 60_000;

/** Waits for the Node and says when it is no longer the one that the proxy started with. */
export class NodeGuard {
  readonly #options: NodeGuardOptions;
  #wake = Promise.withResolvers<void>();
  #baseline: { readonly addresses: string; readonly podCIDRs: string } | undefined;

  constructor(options: NodeGuardOptions) {
    this.#options = options;
  }

  /** The Node was heard of; throws when the proxy must start anew. */
  heard(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
    if (!this.#baseline) return;
    const { current, detectLocalMode, logger, nodeName } = this.#options;
    const node = current();
    if (!node) return this.#end("Node is being deleted", { node: nodeName });
    const { addresses, podCIDRs } = facts(node);
    if (detectLocalMode === "NodeCIDR" && podCIDRs !== this.#baseline.podCIDRs) {
      logger.info("PodCIDRs changed for the node", {
        node: nodeName,
        oldPodCIDRs: this.#baseline.podCIDRs,
        newPodCIDRs: podCIDRs,
      });
      throw new Error(`Cannot go on: the pod CIDRs of node "${nodeName}" changed`);
    }
    if (addresses !== this.#baseline.addresses) {
      logger.info("NodeIPs changed for the node", {
        node: nodeName,
        oldNodeIPs: this.#baseline.addresses,
        newNodeIPs: addresses,
      });
      throw new Error(`Cannot go on: the addresses of node "${nodeName}" changed`);
    }
  }

  /** Resolves when the Node has what the start needs, or was waited for long enough. */
  async wait(signal: AbortSignal): Promise<void> {
    const { current, detectLocalMode, logger, nodeName } = this.#options;
    await this.#until(() => hostIPs(current()?.addresses ?? []).length > 0, addressWaitMs, signal);
    const node = current();
    if (!signal.aborted && !node) {
      logger.error("Timed out waiting for node to exist", undefined, {
        node: nodeName,
        hint: "give --hostname-override where its Node has another name",
      });
    } else if (!signal.aborted && node && hostIPs(node.addresses).length === 0) {
      logger.error("Timed out waiting for node to be assigned IPs", undefined, { node: nodeName });
    }
    if (detectLocalMode === "NodeCIDR") await this.#waitForPodCIDRs(signal);
    this.#baseline = facts(current());
  }

  async #waitForPodCIDRs(signal: AbortSignal): Promise<void> {
    const { current, nodeName } = this.#options;
    const known = () => (current()?.podCIDRs.length ?? 0) > 0;
    await this.#until(known, podCidrWaitMs, signal);
    if (signal.aborted || known()) return;
    const missing = current() ? "no pod CIDRs were allocated to it" : "it does not exist";
    throw new Error(
      `Cannot tell local traffic by the pod CIDRs of node "${nodeName}": ${missing}; choose another detectLocalMode or let the cluster allocate them`,
    );
  }

  async #until(condition: () => boolean, ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const deadline = clock.monotonic() + ms;
    while (!condition() && !signal.aborted && clock.monotonic() < deadline) {
      using poll = linkAbort(signal);
      await Promise.race([this.#wake.promise, clock.sleep(pollMs, poll.signal)]);
      poll.abort();
    }
  }

  #end(message: string, values: Readonly<Record<string, unknown>>): never {
    this.#options.logger.info(message, values);
    throw new Error(`Cannot go on: ${message.charAt(0).toLowerCase()}${message.slice(1)}`);
  }
}

function facts(node: Node | undefined): { addresses: string; podCIDRs: string } {
  return {
    addresses: hostIPs(node?.addresses ?? []).join(","),
    podCIDRs: (node?.podCIDRs ?? []).join(","),
  };
}
