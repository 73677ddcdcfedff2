import assert from "node:assert/strict";
import { findAccess } from "../../../../lib/kube/credentials/find_access.ts";
import { inFolder } from "../../../fakes/folder.ts";

type Environment = Readonly<Record<string, string>>;

/** What a kubeconfig of these fields gives; no kubeconfig without them. */
async function find(
  given: {
    readonly cluster?: Readonly<Record<string, unknown>>;
    readonly user?: Readonly<Record<string, unknown>>;
    readonly text?: string;
    readonly master?: string;
    readonly environment?: Environment;
  },
) {
  const { cluster, user = {}, master = "", environment = {} } = given;
  const whole = {
    "current-context": "here",
    clusters: [{ name: "c", cluster }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user }],
  };
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/kubeconfig`;
    await Deno.writeTextFile(path, given.text ?? JSON.stringify(whole));
    return await findAccess({
      kubeconfig: cluster || given.text !== undefined ? path : "",
      master,
      environment: (name) => environment[name],
      serviceAccountFolder: "/pod",
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const servers: readonly (readonly [name: string, given: Parameters<typeof find>[0], string])[] = [
  ["a kubeconfig", { cluster: { server: "https://a:6443/" } }, "https://a:6443"],
  [
    "--master instead of a kubeconfig's",
    { cluster: { server: "https://a" }, master: "http://b:8080/" },
    "http://b:8080",
  ],
  ["--master alone, without a scheme", { master: "b:8080" }, "http://b:8080"],
  ["no scheme beside a token", { cluster: { server: "a" }, user: { token: "t" } }, "https://a"],
  [
    "no scheme beside a CA",
    { cluster: { server: "a", "certificate-authority": "/ca" } },
    "https://a",
  ],
  [
    "no scheme beside a client certificate",
    { cluster: { server: "a" }, user: { "client-certificate": "/crt" } },
    "https://a",
  ],
  ["no scheme and nothing of TLS", { cluster: { server: "a:80" } }, "http://a:80"],
];

for (const [name, given, server] of servers) {
  Deno.test(`findAccess() takes the server of ${name}`, async () => {
    assert.equal((await find(given)).server, server);
  });
}

Deno.test("findAccess() takes the pod's service account where nothing is given", async () => {
  const environment = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  const access = await find({ environment });
  assert.equal(access.server, "https://[fd00::1]:443");
  assert.deepEqual(access.certificateAuthority, { kind: "file", path: "/pod/ca.crt" });
  assert.deepEqual(access.token, { kind: "file", path: "/pod/token" });
  const inIPv4 = { ...environment, KUBERNETES_SERVICE_HOST: "172.30.0.1" };
  assert.equal((await find({ environment: inIPv4 })).server, "https://172.30.0.1:443");
});

Deno.test("findAccess() trusts the machine's roots only where no CA is named", async () => {
  const environment = { SSL_CERT_FILE: "/my/roots.pem" };
  const open = await find({ cluster: { server: "https://a" }, environment });
  assert.equal(open.systemRoots, "/my/roots.pem");
  const cluster = { server: "https://a", "certificate-authority": "/ca" };
  assert.equal((await find({ cluster, environment })).systemRoots, "");
});

Deno.test("findAccess() finds the machine's roots, where it has any", async () => {
  const { systemRoots } = await find({ cluster: { server: "https://a" } });
  assert.ok(systemRoots === "" || Deno.statSync(systemRoots).isFile, systemRoots);
});

const refusals: readonly (readonly [name: string, Parameters<typeof find>[0], RegExp])[] = [
  ["nothing at all", {}, /^Cannot find an apiserver: neither --kubeconfig nor --master is given/],
  [
    "half of a pod's environment",
    { environment: { KUBERNETES_SERVICE_HOST: "a" } },
    /^Cannot find an apiserver: .+; give --kubeconfig$/,
  ],
  [
    "a kubeconfig without a server",
    { cluster: {} },
    /the kubeconfig names no server; give --master$/,
  ],
  ["another scheme", { master: "ftp://a" }, /^Cannot use apiserver "ftp:\/\/a": it is no http/],
  ["an address that is none", { master: "a b" }, /^Cannot use apiserver "a b": it is no http/],
  [
    "a server that nobody has to be",
    { cluster: { server: "https://a", "insecure-skip-tls-verify": true } },
    /insecure-skip-tls-verify is not supported; remove it and put the certificate/,
  ],
  [
    "another name in the certificate",
    { cluster: { server: "https://192.168.1.1:6443", "tls-server-name": "api" } },
    /tls-server-name is not supported; use server https:\/\/api:6443, .+ with 192\.168\.1\.1 into/,
  ],
  [
    "a proxy of an unknown kind",
    { cluster: { server: "https://a", "proxy-url": "ftp://p" } },
    /^Cannot use proxy-url "ftp:\/\/p": its scheme is none of http, https, socks5/,
  ],
  ["an empty file", { text: "" }, /^Cannot use kubeconfig ".+": it is empty$/],
  ["no YAML", { text: "a: [\n" }, /^Cannot use kubeconfig ".+": line 2: /],
  ["no text", { text: "\u0000" }, /^Cannot use kubeconfig ".+": line 1: /],
];

for (const [name, given, message] of refusals) {
  Deno.test(`findAccess() refuses ${name}`, () => assert.rejects(find(given), { message }));
}

for (
  const [name, cluster] of [
    ["insecure-skip-tls-verify without TLS", {
      server: "http://a",
      "insecure-skip-tls-verify": true,
    }],
    ["its own name in the certificate", {
      server: "https://[fd00::1]",
      "tls-server-name": "fd00::1",
    }],
    ["a proxy that is known", { server: "https://a", "proxy-url": "socks5h://p" }],
  ] as const
) {
  Deno.test(`findAccess() takes ${name}`, async () => {
    assert.equal((await find({ cluster })).server, cluster.server);
  });
}

Deno.test("findAccess() says which kubeconfig is not there", () =>
  inFolder((folder) =>
    assert.rejects(
      findAccess({ kubeconfig: `${folder}/none`, master: "", environment: () => undefined }),
      { message: `Cannot read "${folder}/none": no such file or directory` },
    )
  ));
