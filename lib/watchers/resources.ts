/** What a proxy follows at an apiserver, and which objects of it: the server leaves out all others. */

const notForOthers = "!service.kubernetes.io/service-proxy-name";

/** Label and field selectors by resource. */
export const selectors = {
  services: { labelSelector: notForOthers, fieldSelector: "spec.clusterIP!=None" },
  endpointSlices: { labelSelector: `!service.kubernetes.io/headless,${notForOthers}` },
  namespaces: { labelSelector: "networking.k8s.io/kube-proxy=disabled" },
} as const;

/** One Node alone. */
export function nodeSelector(name: string) {
  return { fieldSelector: `metadata.name=${name}` };
}
