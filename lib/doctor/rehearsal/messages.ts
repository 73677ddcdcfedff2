/** What passes between the thread of a rehearsal and whoever started it. */
import type { Snapshot } from "../../snapshot/snapshot.ts";
import type { ModeName, ModeSections } from "../../writers/registry.ts";
import type { RehearsalReport } from "./report.ts";

/** What the thread is told. */
export interface RehearsalRequest {
  readonly mode: ModeName;
  readonly sections: ModeSections;
  readonly snapshots: readonly Snapshot[];
  readonly mostFrontends: number;
}

/** What it answers. */
export type RehearsalAnswer =
  | { readonly kind: "report"; readonly report: RehearsalReport }
  /** This process may not make a namespace, or the kernel has none. */
  | { readonly kind: "no-namespace"; readonly because: string }
  | { readonly kind: "failed"; readonly because: string };
