import assert from "node:assert/strict";
import {
  anonymousAccess,
  type ClusterAccess,
  readKubeconfig,
} from "../../../../lib/kube/credentials/kubeconfig.ts";

type Fields = Readonly<Record<string, unknown>>;

const source = { path: "/etc/kube/config" };
const cluster = { server: "https://192.168.1.1:6443" };

function read(changes: { cluster?: Fields; user?: Fields; whole?: unknown; path?: string }) {
  const whole = changes.whole ?? {
    "current-context": "here",
    clusters: [{ name: "c", cluster: { ...cluster, ...changes.cluster } }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: changes.user ?? {} }],
  };
  return readKubeconfig(whole, { path: changes.path ?? source.path });
}

const base: ClusterAccess = {
  ...anonymousAccess,
  server: "https://192.168.1.1:6443",
  certificateAuthority: undefined,
  clientCertificate: undefined,
  clientKey: undefined,
  token: undefined,
  basicAuth: undefined,
  exec: undefined,
  impersonation: undefined,
};
const file = (path: string) => ({ kind: "file" as const, path });
const inline = (text: string) => ({ kind: "inline" as const, text });

const rows: readonly {
  readonly name: string;
  readonly cluster?: Fields;
  readonly user?: Fields;
  readonly path?: string;
  readonly expect: Partial<ClusterAccess>;
}[] = [
  { name: "a server alone", expect: {} },
  {
    name: "slashes behind the server",
    cluster: { server: "https://a//" },
    expect: { server: "https://a" },
  },
  { name: "no server, which --master may give", cluster: { server: null }, expect: { server: "" } },
  {
    name: "everything of a cluster",
    cluster: {
      "certificate-authority": "/ca.crt",
      "tls-server-name": "api",
      "insecure-skip-tls-verify": true,
      "proxy-url": "http://proxy:3128",
      "disable-compression": true,
    },
    expect: {
      certificateAuthority: file("/ca.crt"),
      tlsServerName: "api",
      insecureSkipTlsVerify: true,
      proxyUrl: "http://proxy:3128",
      disableCompression: true,
    },
  },
  {
    name: "data beside a file, which wins",
    cluster: { "certificate-authority": "ca.crt", "certificate-authority-data": btoa("PEM") },
    expect: { certificateAuthority: inline("PEM") },
  },
  {
    name: "files relative to its own folder",
    user: { "client-certificate": "pki/client.crt", "client-key": "../client.key" },
    expect: {
      clientCertificate: file("/etc/kube/pki/client.crt"),
      clientKey: file("/etc/kube/../client.key"),
    },
  },
  {
    name: "files relative to the working directory",
    path: "config",
    user: { "client-certificate": "client.crt", "client-key-data": btoa("KEY") },
    expect: { clientCertificate: file("./client.crt"), clientKey: inline("KEY") },
  },
  { name: "a token", user: { token: "abc" }, expect: { token: inline("abc") } },
  {
    name: "a token file beside a token, which wins",
    user: { token: "abc", tokenFile: "token" },
    expect: { token: file("/etc/kube/token") },
  },
  {
    name: "a name and a password",
    user: { username: "admin", password: "secret" },
    expect: { basicAuth: { username: "admin", password: "secret" } },
  },
  {
    name: "whom to pretend to be",
    user: {
      as: "somebody",
      "as-uid": "7",
      "as-groups": ["g", "h"],
      "as-user-extra": { scopes: ["x", "y"], area: [] },
    },
    expect: {
      impersonation: {
        user: "somebody",
        uid: "7",
        groups: ["g", "h"],
        extra: new Map([["area", []], ["scopes", ["x", "y"]]]),
      },
    },
  },
  {
    name: "groups of nobody, which count for nothing",
    user: { "as-groups": ["g"] },
    expect: {},
  },
  {
    name: "a plugin with everything",
    user: {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "bin/login",
        args: ["a", "b"],
        env: [{ name: "N", value: "V" }],
        provideClusterInfo: true,
        interactiveMode: "Never",
      },
    },
    expect: {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "/etc/kube/bin/login",
        args: ["a", "b"],
        env: [{ name: "N", value: "V" }],
        provideClusterInfo: true,
      },
    },
  },
  {
    name: "a plugin that is looked up in PATH, with nothing else",
    user: { exec: { command: "login", args: null, env: null } },
    expect: {
      exec: { apiVersion: "", command: "login", args: [], env: [], provideClusterInfo: false },
    },
  },
];

for (const { name, expect, ...changes } of rows) {
  Deno.test(`readKubeconfig() reads ${name}`, () => {
    assert.deepEqual(read(changes), { ...base, ...expect });
  });
}

Deno.test("readKubeconfig() takes the first of equal names, and a context without a user", () => {
  const whole = {
    "current-context": "here",
    clusters: [{ name: "c", cluster }, { name: "c", cluster: { server: "https://other" } }],
    contexts: [{ name: "other", context: { cluster: "x" } }, {
      name: "here",
      context: { cluster: "c" },
    }],
  };
  assert.deepEqual(read({ whole }), base);
});

const refusals: readonly (readonly [name: string, whole: unknown, message: string])[] = [
  ["a list", [], "it is not a mapping"],
  ["nothing", null, "it is not a mapping"],
  [
    "no current-context",
    {},
    "it has no current-context; set one with kubectl config use-context",
  ],
  ["a context that is not there", { "current-context": "x" }, '"contexts" has no entry "x"'],
  [
    "contexts that are no list",
    { "current-context": "x", contexts: {} },
    '"contexts" is not a list',
  ],
  [
    "a context that is no mapping",
    { "current-context": "x", contexts: ["x"] },
    "at contexts, it is not a mapping",
  ],
  [
    "a cluster that is not there",
    { "current-context": "x", contexts: [{ name: "x", context: { cluster: "y" } }] },
    '"clusters" has no entry "y"',
  ],
];

for (const [name, whole, message] of refusals) {
  Deno.test(`readKubeconfig() refuses ${name}`, () => {
    assert.throws(() => readKubeconfig(whole, source), (error: Error) => {
      assert.equal(error.message, `Cannot use kubeconfig "/etc/kube/config": ${message}`);
      return error instanceof SyntaxError;
    });
  });
}

const wrongFields: readonly (readonly [Fields, Fields, string])[] = [
  [{ server: 7 }, {}, 'at clusters.cluster, "server" is not a string'],
  [
    { "insecure-skip-tls-verify": "yes" },
    {},
    'at clusters.cluster, "insecure-skip-tls-verify" is neither true nor false',
  ],
  [
    { "certificate-authority-data": "%%%" },
    {},
    'at clusters.cluster, "certificate-authority-data" is not base64',
  ],
  [{}, { as: "a", "as-groups": ["g", 7] }, 'at users.user, "as-groups" is not a list of strings'],
  [{}, { exec: {} }, "at users.user.exec, it names no command"],
  [{}, { exec: "login" }, "at users.user.exec, it is not a mapping"],
  [
    {},
    { "auth-provider": { name: "gcp" } },
    'at users.user, it uses "auth-provider", which Kubernetes 1.26 removed; use the plugin\'s ' +
    "exec form instead",
  ],
];

for (const [clusterFields, user, message] of wrongFields) {
  Deno.test(`readKubeconfig() says: ${message}`, () => {
    assert.throws(
      () => read({ cluster: clusterFields, user }),
      { name: "SyntaxError", message: `Cannot use kubeconfig "/etc/kube/config": ${message}` },
    );
  });
}
