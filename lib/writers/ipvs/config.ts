/** The part of the configuration that this mode owns. Zero timeouts leave the kernel's as they are. */
export interface IpvsSettings {
  /** The bit of the packet mark that says: masquerade this. */
  readonly masqueradeBit: number;
  /** Empty means `rr`. */
  readonly scheduler: string;
  /** Virtual servers in these ranges belong to somebody else. */
  readonly excludeCIDRs: readonly string[];
  readonly strictARP: boolean;
  readonly tcpTimeoutMs: number;
  readonly tcpFinTimeoutMs: number;
  readonly udpTimeoutMs: number;
}
