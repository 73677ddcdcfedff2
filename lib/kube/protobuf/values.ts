/** Values that several kinds spell alike. */
import type { Protocol } from "../../base/protocol.ts";

/** The one empty list, for the many objects that hold nothing of something. */
export const none: readonly never[] = Object.freeze([]);

/** Protocols are few; anything else is taken as TCP, the API server's default. */
export function protocolOf(text: string): Protocol {
  return text === "UDP" || text === "SCTP" ? text : "TCP";
}

/** Appends to a list that may still be the shared empty one. */
export function append<T>(list: readonly T[], value: T): readonly T[] {
  if (list.length === 0) return [value];
  return [...list, value];
}
