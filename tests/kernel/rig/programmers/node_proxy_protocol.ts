/** What the test and `node_proxy.ts` say to each other: one JSON object a line, answered in order. */
import type { Manifest } from "../../../scenarios/manifests.ts";
import type { Setup } from "../../../scenarios/setups.ts";

/** Objects that appeared or changed, and objects that went; then both families are synced. */
export interface ProxyRequest {
  /** Counts in the first request. */
  readonly setup: Setup;
  readonly apply: readonly Manifest[];
  readonly remove: readonly Manifest[];
}

export type ProxyAnswer =
  | { readonly kind: "synced"; readonly written: number; readonly notices: readonly string[] }
  | { readonly kind: "failed"; readonly message: string };
