/** Names and attribute numbers of the kernel's expressions, for the encoder and the reader alike. */

export const ExprAttr = { name: 1, data: 2 } as const;
export const PayloadAttr = { into: 1, base: 2, offset: 3, length: 4 } as const;
export const PayloadBase = { network: 1, transport: 2 } as const;
export const MetaAttr = { into: 1, key: 2, from: 3 } as const;
export const CtAttr = { into: 1, key: 2, direction: 3 } as const;
export const FibAttr = { into: 1, result: 2, flags: 3 } as const;
export const NumgenAttr = { into: 1, modulus: 2, type: 3, offset: 4 } as const;
export const NUMGEN_RANDOM = 1;
export const CmpAttr = { from: 1, op: 2, data: 3 } as const;
export const RangeAttr = { from: 1, op: 2, first: 3, last: 4 } as const;
export const RANGE_NOT = 1;
export const BitwiseAttr = { from: 1, into: 2, length: 3, mask: 4, xor: 5, op: 6 } as const;
export const LookupAttr = { set: 1, from: 2, into: 3, setId: 4, flags: 5 } as const;
export const LOOKUP_NOT = 1;
export const ImmediateAttr = { into: 1, data: 2 } as const;
export const DynsetAttr = {
  set: 1,
  setId: 2,
  op: 3,
  key: 4,
  data: 5,
  timeout: 6,
  expr: 7,
  flags: 9,
  expressions: 10,
} as const;
export const DYNSET_UPDATE = 1;
export const NatAttr = {
  type: 1,
  nfproto: 2,
  addressMin: 3,
  addressMax: 4,
  portMin: 5,
  portMax: 6,
  flags: 7,
} as const;
export const NAT_DNAT = 1;
export const MasqAttr = { flags: 1, portMin: 2, portMax: 3 } as const;
export const RejectAttr = { type: 1, code: 2 } as const;
export const CounterAttr = { bytes: 1, packets: 2 } as const;
/** `match` and `target`: the structures of xtables. */
export const XtAttr = { name: 1, revision: 2, info: 3 } as const;
