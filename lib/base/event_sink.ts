/** Things that people look for at an object of the cluster, such as with `kubectl describe node`. */

/** What happened, to whom. */
export interface ObjectEvent {
  readonly about: {
    readonly kind: "Node" | "Service";
    /** Empty for a Node. */
    readonly namespace: string;
    readonly name: string;
  };
  readonly type: "Normal" | "Warning";
  /** A word in CamelCase that says what happened, such as `Starting`. */
  readonly reason: string;
  /** A word in CamelCase that says what was being done. */
  readonly action: string;
  /** A sentence for people; may be empty. */
  readonly note: string;
}

/** Takes events. Never waits and never fails: an event that cannot be delivered is dropped. */
export interface EventSink {
  emit(event: ObjectEvent): void;
}
