/** How a scenario's rules get into the node: the same table of fates holds whichever way they came. */
import type { Manifest } from "../../scenarios/manifests.ts";
import type { Setup } from "../../scenarios/setups.ts";
import type { Cluster } from "./cluster.ts";

/** A proxy that has programmed the node and goes on keeping it programmed. Disposing ends it; its rules stay. */
export interface RunningProxy extends AsyncDisposable {
  /** Replaces these objects (by kind, namespace and name). Resolves when the change was handed over. */
  apply(manifests: readonly Manifest[]): Promise<void>;
  /** The same for objects that go. */
  remove(manifests: readonly Manifest[]): Promise<void>;
}

/** Starts proxies. `start` resolves when the first sync of all families is in the kernel. */
export interface Programmer {
  readonly name: string;
  start(
    cluster: Cluster,
    options: { readonly manifests: readonly Manifest[]; readonly setup: Setup },
  ): Promise<RunningProxy>;
}
