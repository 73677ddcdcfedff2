/** The ruleset's generation: the question and its answer. */
import { readAttributes, readU32be } from "../netlink/attributes.ts";
import { attributesOf } from "./decode_table.ts";
import type { NftQuery } from "./transport.ts";
import { GenAttr, Msg } from "./wire.ts";

/** Asks for the generation. */
export const generationQuery: NftQuery = {
  op: "read the nf_tables generation",
  type: Msg.getGen,
  nfproto: 0,
  names: [],
  dump: false,
};

/** Reads the answer. */
export function readGeneration([payload]: readonly Uint8Array[]): number {
  const id = payload && readAttributes(attributesOf(payload)).get(GenAttr.id);
  if (!id) throw new TypeError("Cannot read the nf_tables generation: the kernel gave none");
  return readU32be(id);
}
