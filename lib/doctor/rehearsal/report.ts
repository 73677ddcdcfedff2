/** What came of a rehearsal: what was loaded, how long it took, and how packets fared. */
import type { IpFamily } from "../../base/ip_family.ts";

/** What was rehearsed, in the namespace that is gone by now. */
export interface RehearsalReport {
  /** One for each family that this node serves, IPv4 first. */
  readonly families: readonly FamilyLoad[];
  /** What kernel memory grew by while the rules were loaded; other work on the node counts too. */
  readonly kernelBytes: number;
  readonly packets: PacketReport;
  /** What the writer said of Services that it cannot program. */
  readonly notices: readonly string[];
}

/** One family's rules. */
export interface FamilyLoad {
  readonly family: IpFamily;
  readonly servicePorts: number;
  /** Addresses and ports that answer. */
  readonly frontends: number;
  readonly endpoints: number;
  /** Messages that the kernel took. */
  readonly messages: number;
  readonly milliseconds: number;
  /** Why the kernel refused them; undefined where it took them. */
  readonly error: string | undefined;
}

/** How packets fared, or why none was sent. */
export type PacketReport =
  | {
    readonly kind: "sent";
    readonly sent: number;
    /** Frontends that a packet was sent to, of all that there are. */
    readonly tried: number;
    readonly frontends: number;
    readonly milliseconds: number;
    readonly faults: readonly PacketFault[];
  }
  | { readonly kind: "none"; readonly because: string };

/** A packet that did not fare as it should. */
export interface PacketFault {
  /** `10.96.0.10:53/UDP`, as people read it. */
  readonly frontend: string;
  /** `default/dns:dns/UDP` */
  readonly servicePort: string;
  /** What was to happen, and what did. */
  readonly what: string;
}
