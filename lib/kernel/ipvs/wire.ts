/** Numbers of IPVS's generic netlink family (`linux/ip_vs.h`), and of the family of families. */

/** Commands of the family IPVS. */
export const IpvsCommand = {
  newService: 1,
  setService: 2,
  deleteService: 3,
  getService: 4,
  newDestination: 5,
  setDestination: 6,
  deleteDestination: 7,
  getDestination: 8,
  setConfig: 12,
  getConfig: 13,
} as const;

/** What a message holds. */
export const CommandAttr = {
  service: 1,
  destination: 2,
  timeoutTcp: 4,
  timeoutTcpFin: 5,
  timeoutUdp: 6,
} as const;

/** A virtual server. */
export const ServiceAttr = {
  family: 1,
  protocol: 2,
  address: 3,
  port: 4,
  mark: 5,
  scheduler: 6,
  flags: 7,
  timeout: 8,
  netmask: 9,
} as const;

/** A destination. */
export const DestinationAttr = {
  address: 1,
  port: 2,
  forwarding: 3,
  weight: 4,
  upperThreshold: 5,
  lowerThreshold: 6,
  active: 7,
  inactive: 8,
  family: 11,
} as const;

/** Bits of a server's flags that have attributes of their own here. */
export const ServiceFlag = { persistent: 0x1, hashed: 0x2 } as const;

/** `struct genlmsghdr`: the command, and the version of the family. */
export function genlHeader(command: number, version = 1): Uint8Array {
  return Uint8Array.of(command, version, 0, 0);
}

/** The family in which the others are found. */
export const Controller = { family: 16, getFamily: 3, familyId: 1, familyName: 2 } as const;
