/** The transport protocols a Service port can have, spelled as Kubernetes spells them. */
export type Protocol = "TCP" | "UDP" | "SCTP";

/** The same as a decimal protocol number of the IP header. */
export const protocolNumbers: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };
