import { parseIp } from "../base/ip.ts";

/**
 * An address as upstream's flags and files take it: a part of an IPv4 address may have leading zeros,
 * which mean nothing. Undefined where the text is none.
 */
export function parseIpSloppily(text: string): Uint8Array | undefined {
  if (text.includes(":")) return parseIp(text);
  return parseIp(text.replace(/(^|\.)0+(?=\d)/g, "$1"));
}
