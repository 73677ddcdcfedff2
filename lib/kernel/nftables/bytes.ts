/** Small arithmetic on keys as the kernel orders them: numbers in network order. */

/** Adds one in place; false when it wrapped round to zero. */
export function increment(bytes: Uint8Array): boolean {
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = (bytes[i] + 1) & 0xff;
    if (bytes[i] !== 0) return true;
  }
  return false;
}

/** Subtracts one in place. */
export function decrement(bytes: Uint8Array): void {
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = (bytes[i] - 1) & 0xff;
    if (bytes[i] !== 0xff) return;
  }
}

/** Negative, zero or positive as `a` sorts before, with or after the equally long `b`. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return 0;
}

/** Lower-case hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}
