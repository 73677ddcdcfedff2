/** An address family, spelled as Kubernetes spells it. */
export type IpFamily = "IPv4" | "IPv6";

/** Both families, in the order in which everything that walks them goes. */
export const ipFamilies: readonly IpFamily[] = ["IPv4", "IPv6"];
