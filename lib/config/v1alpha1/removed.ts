/** Fields that older releases of Kubernetes had: by path, what became of them and what to do. */
export const removedFields: ReadonlyMap<string, string> = new Map([
  [
    "conntrack.max",
    "removed in Kubernetes 1.16; delete it, or use conntrack.maxPerCore and conntrack.min",
  ],
  ["ipvs.masqueradeAll", "not a field of ipvs; use iptables.masqueradeAll, which ipvs mode reads"],
  ["resourceContainer", "removed in Kubernetes 1.16; delete it"],
  ["udpIdleTimeout", "removed in Kubernetes 1.26; delete it"],
]);
