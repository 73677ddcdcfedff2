/** Which iptables binaries write the rules; `auto` takes the one whose rules are already there. */
export type IptablesBackend = "auto" | "legacy" | "nft";

/** The part of the configuration that this mode owns. */
export interface IptablesSettings {
  /** The bit of the packet mark that says: masquerade this. */
  readonly masqueradeBit: number;
  /** Whether node ports answer on 127.0.0.1 too (IPv4 alone). */
  readonly localhostNodePorts: boolean;
  readonly backend: IptablesBackend;
}
