/** Where the objects come from: manifest files or an apiserver. */
import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/event_sink.ts";
import type { Logger } from "../base/log.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { ProxyConfiguration } from "../config/internal.ts";
import type { Source } from "../watchers/source.ts";
import type { Lifetime } from "./lifetime.ts";

/** What the command line and the configuration say of where objects come from. */
export interface SourceChoice {
  readonly configuration: Pick<ProxyConfiguration, "clientConnection">;
  /** Files and directories instead of an apiserver; empty for an apiserver. */
  readonly manifests: readonly string[];
  /** The apiserver's address, whatever the kubeconfig says; empty where nothing was said. */
  readonly master: string;
  /** What the files hold now is enough. */
  readonly once: boolean;
  /** Nothing is written anywhere: no events either. */
  readonly dryRun: boolean;
  readonly namespaceOptOut: boolean;
  readonly namespaceOptOutDelayMs: number;
}

/** Shows a person at a terminal what is being waited for. */
export interface Progress {
  /** Replaces what is shown. */
  show(text: string): void;
  /** Called before anything else is written. */
  clear(): void;
}

/** What a source is opened with. */
export interface SourceOptions {
  readonly options: SourceChoice;
  readonly nodeName: string;
  readonly hostName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly progress: Progress;
  /** What the apiserver reads as the client's name. */
  readonly userAgent: string;
  readonly metrics: MetricsRegistry;
  readonly lifetime: Lifetime;
  readonly env: (name: string) => string | undefined;
}

/** A source, and where to write what happens here. */
export interface OpenSource {
  readonly source: Source;
  /** In a few words, for people. */
  readonly description: string;
  readonly events: EventSink;
  /** Whether the Node is known to the source for sure, so that waiting for it makes sense. */
  readonly hasNode: boolean;
}
