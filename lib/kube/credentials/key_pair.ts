/** Whether a client certificate and a key belong together. */
import { createPublicKey, X509Certificate } from "node:crypto";

const wayOut = "replace both files, or wait for the rotation that is going on";

/**
 * Throws for a certificate and a key that are broken or do not fit: half of a rotation, mostly, over
 * in a moment. Deno's client would end the process over such a pair instead of refusing it. Either
 * file may hold both, as the kubelet's does.
 */
export function requireMatchingKey(certificate: string, key: string): void {
  const der = decode("client certificate", () => readCertificate(certificate));
  const publicKey = decode("key of the client certificate", () => readPublicKey(key));
  // A certificate holds its public key in the form that the key exports, whatever the algorithm.
  if (holds(der, publicKey)) return;
  throw new Error(
    `Cannot use the client certificate: it does not belong to the key beside it; ${wayOut}`,
  );
}

function decode<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot use the ${what}: ${reason}; ${wayOut}`, { cause });
  }
}

function readCertificate(pem: string): Uint8Array {
  const block = blockOf(pem, "CERTIFICATE");
  // Only for its judgement: what is no certificate must not get further.
  new X509Certificate(block);
  return Uint8Array.fromBase64(block.replace(/-----[^-]+-----|\s/g, ""));
}

function readPublicKey(pem: string): Uint8Array {
  return createPublicKey(blockOf(pem, "[A-Z ]*PRIVATE KEY")).export({
    type: "spki",
    format: "der",
  });
}

/** The first PEM block of the type, which is a pattern. */
function blockOf(pem: string, type: string): string {
  const block = new RegExp(`-----BEGIN (${type})-----[^-]*-----END \\1-----`).exec(pem);
  if (!block) throw new TypeError("there is none in the PEM text");
  return block[0];
}

function holds(haystack: Uint8Array, needle: Uint8Array): boolean {
  const last = haystack.length - needle.length;
  for (let at = 0; at <= last; at++) {
    if (needle.every((byte, i) => haystack[at + i] === byte)) return true;
  }
  return false;
}
