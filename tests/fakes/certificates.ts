/**
 * X.509 certificates for test servers and clients, made by WebCrypto alone, so that tests need no
 * openssl and no files in the checkout. Only what TLS between test programs needs is here.
 */

export type KeyKind = "EC" | "RSA";

/** A certificate with its key, both as PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** `CN`, and as `O` the groups that an apiserver reads from a client certificate. */
  readonly commonName: string;
  readonly organization?: string;
  /** Names and addresses (IPv4 or full IPv6 text) that a server answers for. */
  readonly names?: readonly string[];
  readonly key?: KeyKind;
  /** Lifetime from now; negative gives an expired certificate. */
  readonly days?: number;
}

/** A certificate authority of its own. */
export class TestAuthority {
  readonly certificate: string;
  readonly #name: Uint8Array;
  readonly #keys: CryptoKeyPair;
  readonly #kind: KeyKind;

  private constructor(fields: {
    certificate: string;
    name: Uint8Array;
    keys: CryptoKeyPair;
    kind: KeyKind;
  }) {
    this.certificate = fields.certificate;
    this.#name = fields.name;
    this.#keys = fields.keys;
    this.#kind = fields.kind;
  }

  static async create(commonName: string, kind: KeyKind = "EC"): Promise<TestAuthority> {
    const name = distinguishedName(commonName);
    const keys = await generateKeys(kind);
    const body = await certificateBody({
      issuer: name,
      subject: name,
      publicKey: keys.publicKey,
      issuerKind: kind,
      days: 3650,
      extensions: [
        extension("2.5.29.19", true, sequence(boolean(true))),
        // keyCertSign, cRLSign and digitalSignature.
        extension("2.5.29.15", true, element(0x03, Uint8Array.of(1, 0x86))),
      ],
    });
    const certificate = await signed(body, { key: keys.privateKey, kind });
    return new TestAuthority({ certificate, name, keys, kind });
  }

  /** Issues a certificate good for serving and for clients. */
  async issue(options: CertificateOptions): Promise<CertificatePair> {
    const keys = await generateKeys(options.key ?? "EC");
    const extensions = [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"), oid("1.3.6.1.5.5.7.3.2"))),
    ];
    if (options.names) {
      extensions.push(
        extension("2.5.29.17", false, sequence(...options.names.map(alternativeName))),
      );
    }
    const body = await certificateBody({
      issuer: this.#name,
      subject: distinguishedName(options.commonName, options.organization),
      publicKey: keys.publicKey,
      issuerKind: this.#kind,
      days: options.days ?? 30,
      extensions,
    });
    const certificate = await signed(body, { key: this.#keys.privateKey, kind: this.#kind });
    return { certificate, key: await privateKeyPem(keys.privateKey) };
  }
}

/** An RSA key pair as PEM, as kube-apiserver signs service account tokens with. */
export async function signingKeyPair(): Promise<{ privateKey: string; publicKey: string }> {
  const keys = await generateKeys("RSA");
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", keys.publicKey));
  return { privateKey: await privateKeyPem(keys.privateKey), publicKey: pem("PUBLIC KEY", spki) };
}

const ecAlgorithm = { name: "ECDSA", namedCurve: "P-256" };
const rsaAlgorithm = {
  name: "RSASSA-PKCS1-v1_5",
  modulusLength: 2048,
  publicExponent: Uint8Array.of(1, 0, 1),
  hash: "SHA-256",
};

function generateKeys(kind: KeyKind): Promise<CryptoKeyPair> {
  const algorithm = kind === "EC" ? ecAlgorithm : rsaAlgorithm;
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

interface BodyOptions {
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly publicKey: CryptoKey;
  readonly issuerKind: KeyKind;
  readonly days: number;
  readonly extensions: readonly Uint8Array[];
}

async function certificateBody(options: BodyOptions): Promise<Uint8Array> {
  const now = Date.now();
  const end = now + options.days * 86_400_000;
  const start = Math.min(now, end) - 86_400_000;
  const serial = crypto.getRandomValues(new Uint8Array(9));
  serial[0] = 1;
  return sequence(
    element(0xa0, integer(Uint8Array.of(2))),
    integer(serial),
    signatureAlgorithm(options.issuerKind),
    options.issuer,
    sequence(time(start), time(end)),
    options.subject,
    new Uint8Array(await crypto.subtle.exportKey("spki", options.publicKey)),
    element(0xa3, sequence(...options.extensions)),
  );
}

async function signed(
  body: Uint8Array,
  signer: { readonly key: CryptoKey; readonly kind: KeyKind },
): Promise<string> {
  const algorithm = signer.kind === "EC"
    ? { name: "ECDSA", hash: "SHA-256" }
    : { name: "RSASSA-PKCS1-v1_5" };
  const raw = new Uint8Array(
    await crypto.subtle.sign(algorithm, signer.key, Uint8Array.from(body)),
  );
  // WebCrypto gives r and s side by side; X.509 wants them as a sequence of two integers.
  const signature = signer.kind === "EC"
    ? sequence(integer(unsigned(raw.subarray(0, 32))), integer(unsigned(raw.subarray(32))))
    : raw;
  const whole = sequence(body, signatureAlgorithm(signer.kind), bitString(signature));
  return pem("CERTIFICATE", whole);
}

async function privateKeyPem(key: CryptoKey): Promise<string> {
  return pem("PRIVATE KEY", new Uint8Array(await crypto.subtle.exportKey("pkcs8", key)));
}

function pem(label: string, bytes: Uint8Array): string {
  const lines = bytes.toBase64().match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

function signatureAlgorithm(kind: KeyKind): Uint8Array {
  return kind === "EC"
    ? sequence(oid("1.2.840.10045.4.3.2"))
    : sequence(oid("1.2.840.113549.1.1.11"), element(0x05, new Uint8Array()));
}

function distinguishedName(commonName: string, organization?: string): Uint8Array {
  const attributes = [attribute("2.5.4.3", commonName)];
  if (organization) attributes.unshift(attribute("2.5.4.10", organization));
  return sequence(...attributes);
}

function attribute(type: string, value: string): Uint8Array {
  return element(0x31, sequence(oid(type), element(0x0c, new TextEncoder().encode(value))));
}

function alternativeName(name: string): Uint8Array {
  if (/^[\d.]+$/.test(name)) return element(0x87, Uint8Array.from(name.split("."), Number));
  if (name.includes(":")) return element(0x87, ipv6Bytes(name));
  return element(0x82, new TextEncoder().encode(name));
}

function ipv6Bytes(text: string): Uint8Array {
  const [head, tail = []] = text.split("::").map((half) => half.split(":").filter(Boolean));
  const groups = [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail];
  return Uint8Array.from(groups.flatMap((group) => {
    const value = parseInt(group, 16);
    return [value >> 8, value & 0xff];
  }));
}

function extension(type: string, critical: boolean, value: Uint8Array): Uint8Array {
  const octets = element(0x04, value);
  return critical ? sequence(oid(type), boolean(true), octets) : sequence(oid(type), octets);
}

function oid(text: string): Uint8Array {
  const [first, second, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return element(0x06, Uint8Array.from(bytes));
}

function time(milliseconds: number): Uint8Array {
  const text = new Date(milliseconds).toISOString().replace(/[-:T]|\.\d+/g, "");
  return element(0x18, new TextEncoder().encode(text));
}

function boolean(value: boolean): Uint8Array {
  return element(0x01, Uint8Array.of(value ? 0xff : 0));
}

function integer(bytes: Uint8Array): Uint8Array {
  return element(0x02, bytes);
}

/** A DER integer is signed: no superfluous zero in front, but one where the top bit is set. */
function unsigned(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const trimmed = bytes.subarray(start);
  return trimmed[0] & 0x80 ? Uint8Array.of(0, ...trimmed) : trimmed;
}

function bitString(bytes: Uint8Array): Uint8Array {
  return element(0x03, Uint8Array.of(0, ...bytes));
}

function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return element(0x30, Uint8Array.from(parts.flatMap((part) => [...part])));
}

function element(tag: number, content: Uint8Array): Uint8Array {
  const length = content.length < 0x80
    ? [content.length]
    : content.length < 0x100
    ? [0x81, content.length]
    : [0x82, content.length >> 8, content.length & 0xff];
  return Uint8Array.of(tag, ...length, ...content);
}
