/** Named packet counters of the kernel, which rules count into. They outlive the rules and the program. */

/** What a counter has counted. */
export interface CounterValue {
  readonly packets: bigint;
  readonly bytes: bigint;
}

/** The counters of a network namespace. Every call throws `NetlinkError` where the kernel has none. */
export interface Nfacct {
  /** Makes the counter unless it is there. */
  ensure(name: string): void;
  /** Undefined when there is no such counter. */
  read(name: string): CounterValue | undefined;
  /** Removes the counter; one that is not there is fine. False: some rule still counts into it. */
  remove(name: string): boolean;
}
