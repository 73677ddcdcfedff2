/** How many bits a mask takes of an address; undefined for a mask with a hole. */
export function prefixLengthOf(mask: Uint8Array): number | undefined {
  let length = 0;
  let isOver = false;
  for (const byte of mask) {
    const bits = Math.clz32(~(byte << 24));
    if (isOver && byte !== 0) return undefined;
    if (byte !== (0xff00 >> bits & 0xff)) return undefined;
    isOver ||= byte !== 0xff;
    length += bits;
  }
  return length;
}
