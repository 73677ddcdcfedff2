/** Bytes of which some bits are known: what a rule compares may be a port, which is, or an address, which is not. */

/** An answer about something of which not everything is known. */
export type Answer = "yes" | "no" | "maybe";

/** A value; a bit of `known` is 1 where the bit of `bytes` is certain. */
export interface KnownBits {
  readonly bytes: Uint8Array;
  readonly known: Uint8Array;
}

/** A value that is known as a whole. */
export function certain(bytes: Uint8Array): KnownBits {
  return { bytes, known: new Uint8Array(bytes.length).fill(0xff) };
}

/** A value of which nothing is known. */
export function uncertain(length: number): KnownBits {
  return { bytes: new Uint8Array(length), known: new Uint8Array(length) };
}

/** What is certain of a value that is one of the two. */
export function eitherOf(a: KnownBits, b: KnownBits): KnownBits {
  const known = a.known.map((bits, at) => bits & b.known[at] & ~(a.bytes[at] ^ b.bytes[at]));
  return { bytes: a.bytes, known };
}

/** Keeps the bits of the mask, then flips those of `xor`. Bits that are masked away are known to be 0. */
export function masked(
  value: KnownBits,
  mask: Uint8Array,
  xor: Uint8Array,
): KnownBits {
  return {
    bytes: mask.map((bits, at) => ((value.bytes[at] ?? 0) & bits) ^ (xor[at] ?? 0)),
    known: mask.map((bits, at) => (value.known[at] ?? 0) | (~bits & 0xff)),
  };
}

/** Whether the first bytes of the value are these. */
export function equals(value: KnownBits, expected: Uint8Array): Answer {
  let answer: Answer = "yes";
  for (const [at, byte] of expected.entries()) {
    const known = value.known[at] ?? 0;
    if (((value.bytes[at] ?? 0) ^ byte) & known) return "no";
    if (known !== 0xff) answer = "maybe";
  }
  return answer;
}

/** Whether the value, read as a number in network order, is from `first` to `last`. */
export function isWithin(value: KnownBits, first: Uint8Array, last: Uint8Array): Answer {
  if (compare(first, last) === 0) return equals(value, first);
  const least = first.map((_, at) => (value.bytes[at] ?? 0) & (value.known[at] ?? 0));
  const most = first.map((_, at) => least[at] | (~(value.known[at] ?? 0) & 0xff));
  if (compare(most, first) < 0 || compare(least, last) > 0) return "no";
  return compare(least, first) >= 0 && compare(most, last) <= 0 ? "yes" : "maybe";
}

/** The other answer; what may be stays so. */
export function not(answer: Answer): Answer {
  if (answer === "maybe") return answer;
  return answer === "yes" ? "no" : "yes";
}

/** Yes where both are; no where one is not. */
export function both(a: Answer, b: Answer): Answer {
  if (a === "no" || b === "no") return "no";
  return a === "yes" && b === "yes" ? "yes" : "maybe";
}

/** Negative, zero or positive as the first sorts before, with or after the equally long second. */
function compare(a: Uint8Array, b: Uint8Array): number {
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return a[at] - b[at];
  return 0;
}
