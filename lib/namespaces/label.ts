/** The label that opts a namespace out, and the namespaces that a cluster needs to work. */

export const optOutLabel = "networking.k8s.io/kube-proxy";

/** The only value that means anything. */
export const optOutValue = "disabled";

/** Who these commands are to the apiserver. */
export const fieldManager = "kube-proxy-namespaces";

/** Why opting this namespace out needs --force, or undefined. */
export function protectionOf(name: string): string | undefined {
  if (name === "default") {
    return 'it holds the Service "kubernetes", by which pods reach the apiserver';
  }
  if (name === "kube-system") return "it usually holds the cluster's DNS";
  return undefined;
}
