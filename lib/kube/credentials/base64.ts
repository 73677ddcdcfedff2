/** Text from base64, or undefined where it is none; line breaks inside are fine. */
export function decodeBase64(text: string): string | undefined {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text));
  } catch {
    return undefined;
  }
}

/** Base64 of the text's UTF-8 bytes. */
export function encodeBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}
