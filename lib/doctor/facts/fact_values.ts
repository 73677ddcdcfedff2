/** Every fact by its name, and what it is when it is known. */
import type { ClusterObjects } from "../cluster_objects.ts";
import type { ClusterValues } from "./cluster_values.ts";
import type { NodeValues } from "./node_values.ts";
import type { FromMode } from "../modes.ts";
import type { RehearsalReport } from "../rehearsal/report.ts";

/** A line each; who reads it is in this folder. */
export interface FactValues extends NodeValues, ClusterValues {
  /** The mode that serves this node, or that left its rules here. */
  readonly foundMode: FoundMode;
  /** What the cluster, or the manifests, hold now. */
  readonly objects: ClusterObjects;
  /** What came of loading this node's rules in a scratch network namespace. */
  readonly rehearsal: RehearsalReport;
  /** What this kernel serves now, beside what the rehearsal served. */
  readonly servedNow: ServedComparison;
  /** Routes, and addresses of this node, inside a ServiceCIDR; as people read them. */
  readonly serviceRanges: readonly string[];
}

/** A mode, and what gave it away. */
export interface FoundMode {
  readonly mode: FromMode;
  /** A proxy that runs says so; else it is what was left, or is to be. */
  readonly isRunning: boolean;
  /** `answers at http://127.0.0.1:10249/proxyMode`, `table ip kube-proxy`. */
  readonly where: string;
}

/** Frontends of one side only, sorted: `10.96.0.10:53/UDP`. Node ports are not compared. */
export interface ServedComparison {
  readonly onlyNow: readonly string[];
  readonly onlyThen: readonly string[];
}
