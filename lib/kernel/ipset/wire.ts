/** Numbers of ipset's part of nfnetlink (`linux/netfilter/ipset/ip_set.h`). */

const SUBSYSTEM = 6 << 8;

/** Message types. */
export const SetMessage = {
  protocol: SUBSYSTEM | 1,
  create: SUBSYSTEM | 2,
  destroy: SUBSYSTEM | 3,
  flush: SUBSYSTEM | 4,
  list: SUBSYSTEM | 7,
  add: SUBSYSTEM | 9,
  delete: SUBSYSTEM | 10,
  header: SUBSYSTEM | 12,
  type: SUBSYSTEM | 13,
  byName: SUBSYSTEM | 14,
  byIndex: SUBSYSTEM | 15,
} as const;

/** What a message holds. */
export const SetAttr = {
  protocol: 1,
  name: 2,
  type: 3,
  revision: 4,
  family: 5,
  flags: 6,
  data: 7,
  members: 8,
  line: 9,
  index: 11,
} as const;

/** Parts of a member, and of a set's settings. */
export const DataAttr = {
  address: 1,
  firstPort: 4,
  lastPort: 5,
  protocol: 7,
  line: 9,
  hashSize: 18,
  maxElements: 19,
  second: 20,
  secondLength: 21,
  elements: 24,
  references: 25,
} as const;

/** An address, by its family. */
export const AddressAttr = { IPv4: 1, IPv6: 2 } as const;

/** NLA_F_NET_BYTEORDER: without it the kernel refuses integers and addresses. */
export const NET_ORDER = 0x4000;

/** Of `list`: headers alone. */
export const LIST_HEADERS = 1 << 2;

/** The protocol that the program speaks: kernels from 4.20 on. */
export const PROTOCOL = 7;

/** NFPROTO_*. */
export const SetFamily = { none: 0, IPv4: 2, IPv6: 10 } as const;

/** `struct nfgenmsg`. */
export const GENMSG_BYTES = 4;
