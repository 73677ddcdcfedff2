/** What rules depend on besides the service port they are for. */
import type { IpFamily } from "../../../base/ip_family.ts";
import type { FamilySettings } from "../../../snapshot/snapshot.ts";

/** What a node and its settings say, for one family. */
export interface RuleContext {
  readonly family: IpFamily;
  /** The bit of the packet mark that asks for masquerading. */
  readonly mark: number;
  readonly settings: FamilySettings;
  /** Node ports answer on 127.0.0.1 too. */
  readonly localhostNodePorts: boolean;
  /** Packets that belong to no connection are dropped. */
  readonly dropsInvalid: boolean;
  /** Which counters the kernel has for us. */
  readonly counters: { readonly invalid: boolean; readonly localhost: boolean };
  /** Addresses of Services are this machine's, since ipvs mode left them on its link. */
  readonly addressesAreHere: boolean;
  /** So many endpoints that comments in their chains are left out. */
  readonly isLarge: boolean;
}
