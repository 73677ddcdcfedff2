/** The part of the configuration that this mode owns: understood and validated everywhere, used on Windows. */
export interface WinkernelSettings {
  readonly networkName: string;
  readonly sourceVip: string;
  readonly enableDSR: boolean;
  readonly rootHnsEndpointName: string;
  readonly forwardHealthCheckVip: boolean;
}
