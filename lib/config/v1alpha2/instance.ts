/** The fields of one node alone, which an instance document may set over the shared configuration. */
import { v1alpha2Fields } from "./fields.ts";

/** As in the shared configuration, and with the same meaning. */
export const instanceFields = {
  hostnameOverride: v1alpha2Fields.hostnameOverride,
  nodeIPOverride: v1alpha2Fields.nodeIPOverride,
  healthzBindAddress: v1alpha2Fields.healthzBindAddress,
  metricsBindAddress: v1alpha2Fields.metricsBindAddress,
  mode: v1alpha2Fields.mode,
};

/** Their names for a sentence. */
export const instanceNames = Object.keys(instanceFields).join(", ");
