import { flag, text } from "../../base/fields.ts";
import type { ModeConfig } from "../writer.ts";

/** The part of the configuration that this mode owns: understood everywhere, used on Windows. */
export interface WinkernelSettings {
  readonly networkName: string;
  readonly sourceVip: string;
  readonly enableDSR: boolean;
  readonly rootHnsEndpointName: string;
  readonly forwardHealthCheckVip: boolean;
}

const defaults: WinkernelSettings = {
  networkName: "",
  sourceVip: "",
  enableDSR: false,
  rootHnsEndpointName: "",
  forwardHealthCheckVip: false,
};

/** How that part stands in a file. */
export const winkernelConfig: ModeConfig<WinkernelSettings, "kernelspace"> = {
  mode: "kernelspace",
  documentKind: "KubeProxyWinkernelConfiguration",
  doc: "Settings of the kernelspace mode, which runs on Windows",
  fields: {
    networkName: text({
      default: defaults.networkName,
      doc: "HNS network in which endpoints and policies are made.",
    }),
    sourceVip: text({
      default: defaults.sourceVip,
      doc: "Source address of load-balanced traffic.",
    }),
    enableDSR: flag({ default: defaults.enableDSR, doc: "Let answers go to the client directly." }),
    rootHnsEndpointName: text({
      default: defaults.rootHnsEndpointName,
      doc: "HNS endpoint attached to the l2bridge of the root namespace; empty means cbr0.",
    }),
    forwardHealthCheckVip: flag({
      default: defaults.forwardHealthCheckVip,
      doc: "Forward the service's address for health check ports.",
    }),
  },
  defaults,
  platform: "windows",
};
