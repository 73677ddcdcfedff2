import assert from "node:assert/strict";
import { Credentials } from "../../../../lib/kube/credentials/credentials.ts";
import {
  anonymousAccess,
  type ClusterAccess,
} from "../../../../lib/kube/credentials/kubeconfig.ts";
import { FakeCommands } from "../../../../lib/kernel/fake_commands.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { inFolder } from "../../../fakes/folder.ts";

const inline = (text: string) => ({ kind: "inline" as const, text });
const fresh = { refresh: false };

function credentials(access: Partial<ClusterAccess>): Credentials {
  return new Credentials({ ...anonymousAccess, server: "https://a", ...access }, {
    clock: new FakeClock(),
    commands: new FakeCommands(),
  });
}

const rows: readonly (readonly [string, Partial<ClusterAccess>, readonly string[]])[] = [
  ["nobody", {}, []],
  ["a token, without the space around it", { token: inline(" abc\n") }, [
    "authorization: Bearer abc",
  ]],
  ["no token in an empty file", { token: inline("\n") }, []],
  [
    "a name and a password, outside of ASCII too",
    { basicAuth: { username: "admin", password: "größe" } },
    ["authorization: Basic YWRtaW46Z3LDtsOfZQ=="],
  ],
  [
    "a token before a password",
    { token: inline("abc"), basicAuth: { username: "a", password: "b" } },
    ["authorization: Bearer abc"],
  ],
  [
    "whom to pretend to be",
    {
      impersonation: {
        user: "somebody",
        uid: "7",
        groups: ["g", "h"],
        extra: new Map([["a/b", ["x", "y"]]]),
      },
    },
    [
      "impersonate-user: somebody",
      "impersonate-uid: 7",
      "impersonate-group: g",
      "impersonate-group: h",
      "impersonate-extra-a%2Fb: x",
      "impersonate-extra-a%2Fb: y",
    ],
  ],
  [
    "whom to pretend to be, by name alone",
    { impersonation: { user: "somebody", uid: "", groups: [], extra: new Map() } },
    ["impersonate-user: somebody"],
  ],
];

for (const [name, access, expected] of rows) {
  Deno.test(`Credentials.current() sends ${name}`, async () => {
    const { headers } = await credentials(access).current(fresh);
    assert.deepEqual(headers.map((header) => header.join(": ")), expected);
  });
}

Deno.test("Credentials.current() reads files anew each time, and the machine's roots once", () =>
  inFolder(async (folder) => {
    const write = (name: string, text: string) => Deno.writeTextFileSync(`${folder}/${name}`, text);
    const file = (name: string) => ({ kind: "file" as const, path: `${folder}/${name}` });
    for (const name of ["crt", "key", "token", "roots"]) write(name, `${name} 1`);
    const own = credentials({
      clientCertificate: file("crt"),
      clientKey: file("key"),
      token: file("token"),
      systemRoots: `${folder}/roots`,
    });
    const tls = { certificateAuthority: "roots 1", certificate: "crt 1", key: "key 1" };
    assert.deepEqual((await own.current(fresh)).tls, tls);
    for (const name of ["crt", "key", "token", "roots"]) write(name, `${name} 2`);
    const { tls: later, headers } = await own.current(fresh);
    assert.deepEqual(later, { ...tls, certificate: "crt 2", key: "key 2" });
    assert.deepEqual(headers, [["authorization", "Bearer token 2"]]);
    Deno.removeSync(`${folder}/token`);
    // Alone: a test must not end while other files are still being read.
    const alone = credentials({ token: file("token") });
    await assert.rejects(alone.current(fresh), /token": no such file/);
  }));

Deno.test("Credentials.current() leaves the machine's roots out without TLS, and beside a CA", async () => {
  const systemRoots = "/nonexistent/roots.pem";
  const plain = await credentials({ server: "http://a", systemRoots }).current(fresh);
  assert.equal(plain.tls.certificateAuthority, "");
  const own = credentials({ systemRoots, certificateAuthority: inline("CA") });
  assert.equal((await own.current(fresh)).tls.certificateAuthority, "CA");
});
