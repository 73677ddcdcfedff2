/** A proxy that is put together and not yet running. */
import type { Clock } from "../../lib/base/clock.ts";
import type { EventSink } from "../../lib/base/event_sink.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { MetricsRegistry } from "../../lib/base/metrics.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type { Completeness } from "../../lib/node/follow.ts";
import type { Lifetime } from "../../lib/node/lifetime.ts";
import type { ClusterState } from "../../lib/trackers/cluster_state.ts";
import type { ModeRuntime } from "../../lib/writers/writer.ts";
import type { RunContext } from "../run_command.ts";
import type { RunOptions } from "../run_options.ts";

/** Everything that the three ways to run it share. */
export interface Proxy {
  readonly options: RunOptions;
  readonly context: RunContext;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly startMs: number;
  /** Where objects come from, in a few words. */
  readonly description: string;
  /** Whether the source knows this node for sure. */
  readonly hasNode: boolean;
  readonly kernel: Kernel;
  readonly runtime: ModeRuntime;
  readonly lifetime: Lifetime;
  readonly metrics: MetricsRegistry;
  readonly events: EventSink;
  readonly state: ClusterState;
  /** Those that are programmed, IPv4 first. */
  readonly families: readonly IpFamily[];
  readonly completeness: Completeness;
}
