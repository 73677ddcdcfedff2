import assert from "node:assert/strict";
import { requireMatchingKey } from "../../../../lib/kube/credentials/key_pair.ts";
import { TestAuthority } from "../../../fakes/certificates.ts";

for (const kind of ["EC", "RSA"] as const) {
  const authority = await TestAuthority.create("test", kind);
  const own = await authority.issue({ commonName: "own" });
  const other = await authority.issue({ commonName: "other" });
  const junk = (type: string) =>
    `-----BEGIN ${type}-----\n${btoa("no DER at all")}\n-----END ${type}-----\n`;

  const rows: readonly { name: string; certificate: string; key: string; refused?: RegExp }[] = [
    { name: "a pair", certificate: own.certificate, key: own.key },
    {
      name: "both in one file",
      certificate: own.certificate + own.key,
      key: own.certificate + own.key,
    },
    {
      name: "another's key",
      certificate: own.certificate,
      key: other.key,
      refused: /does not belong to the key/,
    },
    {
      name: "no certificate",
      certificate: "",
      key: own.key,
      refused: /client certificate: there is none/,
    },
    {
      name: "no key",
      certificate: own.certificate,
      key: own.certificate,
      refused: /key of the client certificate: there is none/,
    },
    {
      name: "a broken certificate",
      certificate: junk("CERTIFICATE"),
      key: own.key,
      refused: /Cannot use the client certificate: /,
    },
    {
      name: "a broken key",
      certificate: own.certificate,
      key: junk("PRIVATE KEY"),
      refused: /Cannot use the key of the client certificate: /,
    },
    {
      name: "half a certificate",
      certificate: own.certificate.slice(0, 200),
      key: own.key,
      refused: /there is none/,
    },
  ];
  for (const { name, certificate, key, refused } of rows) {
    Deno.test(`requireMatchingKey() judges ${name} (${kind})`, () => {
      if (!refused) {
        requireMatchingKey(certificate, key);
        // What passes here must not end the process there.
        Deno.createHttpClient({ cert: certificate, key }).close();
      } else {
        assert.throws(() => requireMatchingKey(certificate, key), refused);
      }
    });
  }
}
