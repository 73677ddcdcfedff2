/** What came of a rehearsal: loaded or not, how long it took, and how packets fared. */

/** A frontend that one packet was sent to. */
export interface PacketFault {
  /** `10.96.0.10:53/UDP`, as people read it. */
  readonly frontend: string;
  /** What was to happen, and what did: `expected an endpoint, got nothing`. */
  readonly what: string;
}

/** What came of a rehearsal of one address family. */
export interface RehearsalReport {
  readonly loaded: boolean;
  readonly faults: readonly PacketFault[];
}
