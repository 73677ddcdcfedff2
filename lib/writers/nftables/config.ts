/** The part of the configuration that this mode owns. */
export interface NftablesSettings {
  /** The bit of the packet mark that says: masquerade this. */
  readonly masqueradeBit: number;
}
