/** Numbers of nf_tables on the wire, by their names in linux/netfilter/nf_tables.h. */

const NFNL_SUBSYS_NFTABLES = 10;

/** Message types, the subsystem included. */
export const Msg = {
  batchBegin: 0x10,
  batchEnd: 0x11,
  newTable: messageType(0),
  getTable: messageType(1),
  delTable: messageType(2),
  newChain: messageType(3),
  getChain: messageType(4),
  delChain: messageType(5),
  newRule: messageType(6),
  getRule: messageType(7),
  delRule: messageType(8),
  newSet: messageType(9),
  getSet: messageType(10),
  delSet: messageType(11),
  newSetElem: messageType(12),
  getSetElem: messageType(13),
  delSetElem: messageType(14),
  newGen: messageType(15),
  getGen: messageType(16),
} as const;

/** NFNLGRP_NFTABLES: all changes are told to it. */
export const MULTICAST_GROUP = 7;

function messageType(number: number): number {
  return (NFNL_SUBSYS_NFTABLES << 8) | number;
}

/** Bytes of `struct nfgenmsg`, which stands before the attributes. */
export const GENMSG_BYTES = 4;

/** The attributes behind `struct nfgenmsg`. */
export function attributesOf(payload: Uint8Array): Uint8Array {
  return payload.subarray(GENMSG_BYTES);
}

/** `struct nfgenmsg` of a message about one family's objects; 0 stands for every family. */
export function genmsg(nfproto: number): Uint8Array {
  return Uint8Array.of(nfproto, 0, 0, 0);
}

/** `struct nfgenmsg` of a batch's begin and end: the subsystem in network order. */
export const BATCH_GENMSG: Uint8Array = Uint8Array.of(0, 0, 0, NFNL_SUBSYS_NFTABLES);

/** Of a rule that asks for what the kernel must know of xtables: the protocol, and whether it is turned round. */
export const CompatAttr = { protocol: 1, flags: 2 } as const;
export const BatchAttr = { genId: 1 } as const;
export const GenAttr = { id: 1 } as const;
export const TableAttr = { name: 1, flags: 2, use: 3, owner: 7 } as const;
/** `dormant`: its hooks are not called. `owner`: only the socket that made it may change it. */
export const TableFlag = { dormant: 0x1, owner: 0x2 } as const;
export const ListAttr = { element: 1 } as const;
export const DataAttr = { value: 1, verdict: 2 } as const;
export const VerdictAttr = { code: 1, chain: 2 } as const;

export const ChainAttr = {
  table: 1,
  handle: 2,
  name: 3,
  hook: 4,
  policy: 5,
  use: 6,
  type: 7,
  flags: 10,
  userData: 12,
} as const;
/** `binding`: it belongs to the one rule that leads to it, and goes with that rule. */
export const ChainFlag = { binding: 0x4 } as const;
export const HookAttr = { number: 1, priority: 2 } as const;

export const RuleAttr = {
  table: 1,
  chain: 2,
  handle: 3,
  expressions: 4,
  compat: 5,
  userData: 7,
} as const;

export const SetAttr = {
  table: 1,
  name: 2,
  flags: 3,
  keyType: 4,
  keyLength: 5,
  dataType: 6,
  dataLength: 7,
  desc: 9,
  id: 10,
  timeout: 11,
  userData: 13,
  expr: 17,
  expressions: 18,
  /** On newer kernels. */
  count: 20,
} as const;
export const SetDescAttr = { size: 1, concat: 2 } as const;
export const SetFlag = {
  anonymous: 0x1,
  constant: 0x2,
  interval: 0x4,
  map: 0x8,
  timeout: 0x10,
  dynamic: 0x20,
  concat: 0x80,
} as const;

export const ElemListAttr = { table: 1, set: 2, elements: 3, setId: 4 } as const;
export const ElemAttr = { key: 1, data: 2, flags: 3, timeout: 4, userData: 6, keyEnd: 10 } as const;
export const ElemFlag = { intervalEnd: 0x1, catchAll: 0x2 } as const;

/** Key and data types as nft numbers them; a concatenation packs 6 bits for each. */
export const TypeId = {
  integer: 4,
  ipv4Addr: 7,
  ipv6Addr: 8,
  inetProto: 12,
  inetService: 13,
  verdict: 0xffffff00,
} as const;

/** Verdict codes are 32-bit negative numbers for the jumps. */
export const VerdictCode = {
  drop: 0,
  accept: 1,
  jump: 0xfffffffd,
  goto: 0xfffffffc,
  return: 0xfffffffb,
} as const;

/** Hooks in the kernel's order (NF_INET_*). */
export const HOOKS = ["prerouting", "input", "forward", "output", "postrouting"] as const;
