/** All of 127.0.0.0/8 is this machine: tests that run side by side do not meet. */
export function ownLoopbackAddress(): string {
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3));
  return `127.${a}.${b}.${1 + c % 254}`;
}
