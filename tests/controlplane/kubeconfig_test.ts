/** Kubeconfigs of many shapes against a real apiserver, which says whom it took us for. */
import assert from "node:assert/strict";
import { systemClock as clock } from "../../lib/base/clock.ts";
import { SystemCommands } from "../../lib/kernel/commands.ts";
import type { KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connect.ts";
import { TestAuthority } from "../fakes/certificates.ts";
import { ControlPlane, type ControlPlaneAccess } from "./rig/control_plane.ts";

interface Fixture {
  readonly access: ControlPlaneAccess;
  readonly folder: string;
  readonly write: (name: string, text: string) => Promise<string>;
  readonly issue: (
    commonName: string,
    options?: object,
  ) => Promise<{ certificate: string; key: string }>;
  readonly proxy: { readonly url: string; connections: number };
}

/** Fields of the cluster and of the user; `master` and `kubeconfig` where they differ from the usual. */
interface Shape {
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
  readonly whole?: unknown;
  readonly text?: string;
  readonly master?: string;
  readonly inCluster?: boolean;
}

interface Row {
  readonly name: string;
  readonly shape: (fixture: Fixture) => Promise<Shape> | Shape;
  /** The user that the apiserver must see, or the sentence of the refusal. */
  readonly expect: string | RegExp;
  /** Changes something and says whom the apiserver must see then. */
  readonly then?: (fixture: Fixture) => Promise<string>;
  readonly check?: (fixture: Fixture) => void;
}

const admin = "admin";
const proxyUser = "system:kube-proxy";
const base64 = (text: string) => btoa(text);

const rows: readonly Row[] = [
  {
    name: "a token",
    shape: ({ access }) => ({ user: { token: access.proxyToken } }),
    expect: proxyUser,
  },
  {
    name: "a token file, read again when it is rotated",
    shape: async ({ access, write }) => ({
      user: { tokenFile: await write("token", `${access.proxyToken}\n`) },
    }),
    expect: proxyUser,
    then: async ({ access, write }) => {
      await write("token", access.adminToken);
      return admin;
    },
  },
  {
    name: "a token file beside a token, where the file wins",
    shape: async ({ access, write }) => ({
      user: { token: "wrong", tokenFile: await write("token-2", access.proxyToken) },
    }),
    expect: proxyUser,
  },
  {
    name: "a client certificate inline, EC",
    shape: async ({ issue }) => {
      const { certificate, key } = await issue("inline-ec");
      const user = {
        "client-certificate-data": base64(certificate),
        "client-key-data": base64(key),
      };
      return { user };
    },
    expect: "inline-ec",
  },
  {
    name: "a client certificate inline, RSA",
    shape: async ({ issue }) => {
      const { certificate, key } = await issue("inline-rsa", { key: "RSA" });
      const user = {
        "client-certificate-data": base64(certificate),
        "client-key-data": base64(key),
      };
      return { user };
    },
    expect: "inline-rsa",
  },
  {
    name: "client certificate and CA on disk, relative to the kubeconfig, rotated",
    shape: async ({ access, issue, write }) => {
      const { certificate, key } = await issue("on-disk");
      await write("client.crt", certificate);
      await write("client.key", key);
      await write("ca.crt", access.caCertificate);
      return {
        cluster: { "certificate-authority": "ca.crt", "certificate-authority-data": undefined },
        user: { "client-certificate": "client.crt", "client-key": "client.key" },
      };
    },
    expect: "on-disk",
    then: async ({ issue, write }) => {
      const { certificate, key } = await issue("on-disk-rotated");
      await write("client.crt", certificate);
      await write("client.key", key);
      return "on-disk-rotated";
    },
  },
  {
    name: "an expired client certificate",
    shape: async ({ issue }) => {
      const { certificate, key } = await issue("late", { days: -1 });
      const user = {
        "client-certificate-data": base64(certificate),
        "client-key-data": base64(key),
      };
      return { user };
    },
    expect: /Unauthorized|certificate/,
  },
  {
    name: "an exec plugin that prints a token",
    shape: ({ access }) => ({ user: { exec: execPrinting({ token: access.proxyToken }) } }),
    expect: proxyUser,
  },
  {
    name: "an exec plugin that prints a certificate",
    shape: async ({ issue }) => {
      const { certificate, key } = await issue("from-exec");
      const status = { clientCertificateData: certificate, clientKeyData: key };
      return { user: { exec: execPrinting(status) } };
    },
    expect: "from-exec",
  },
  {
    name:
      "an exec plugin beside the kubeconfig that asks for arguments, environment and the cluster",
    shape: async ({ access, write, folder }) => {
      const script = '#!/bin/sh\ncase "$1$WHO$KUBERNETES_EXEC_INFO" in xyes*6443*) ' +
        `echo '${execCredential({ token: access.proxyToken })}';; *) exit 3;; esac\n`;
      await write("plugin", script);
      await Deno.chmod(`${folder}/plugin`, 0o700);
      const exec = {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "./plugin",
        args: ["x"],
        env: [{ name: "WHO", value: "yes" }],
        provideClusterInfo: true,
      };
      return { user: { exec } };
    },
    expect: proxyUser,
  },
  {
    name: "an exec plugin that fails",
    shape: () => ({
      user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "false" } },
    }),
    expect: /^Cannot get credentials from "false": exit code 1; run it by hand/,
  },
  {
    name: "impersonation",
    shape: ({ access }) => ({
      user: { token: access.adminToken, as: "somebody", "as-groups": ["g"] },
    }),
    expect: "somebody",
  },
  { name: "a pod's service account", shape: () => ({ inCluster: true }), expect: proxyUser },
  {
    name: "--master instead of the kubeconfig's server",
    shape: ({ access }) => ({
      cluster: { server: "https://127.0.0.1:1" },
      user: { token: access.proxyToken },
      master: access.url,
    }),
    expect: proxyUser,
  },
  {
    name: "a server without a scheme",
    shape: ({ access }) => ({
      cluster: { server: new URL(access.url).host },
      user: { token: access.proxyToken },
    }),
    expect: proxyUser,
  },
  {
    name: "an IPv6 server, with a slash at the end",
    shape: ({ access }) => ({
      cluster: { server: "https://[fd00:192:168::1]:6443/" },
      user: { token: access.proxyToken },
    }),
    expect: proxyUser,
  },
  {
    name: "disable-compression",
    shape: ({ access }) => ({
      cluster: { "disable-compression": true },
      user: { token: access.proxyToken },
    }),
    expect: proxyUser,
  },
  {
    name: "proxy-url",
    shape: ({ access, proxy }) => ({
      cluster: { "proxy-url": proxy.url },
      user: { token: access.proxyToken },
    }),
    expect: proxyUser,
    check: ({ proxy }) => assert.equal(proxy.connections, 1),
  },
  {
    name: "tls-server-name that is the server's own",
    shape: ({ access }) => ({
      cluster: { "tls-server-name": new URL(access.url).hostname },
      user: { token: access.proxyToken },
    }),
    expect: proxyUser,
  },
  {
    name: "tls-server-name of another",
    shape: () => ({ cluster: { "tls-server-name": "kubernetes.default.svc" } }),
    expect: /tls-server-name is not supported; use server https:\/\/kubernetes\.default\.svc:6443/,
  },
  {
    name: "insecure-skip-tls-verify",
    shape: () => ({ cluster: { "insecure-skip-tls-verify": true } }),
    expect: /insecure-skip-tls-verify is not supported; remove it and put the certificate/,
  },
  {
    name: "a proxy-url of an unknown scheme",
    shape: () => ({ cluster: { "proxy-url": "gopher://x" } }),
    expect: /^Cannot use proxy-url "gopher:\/\/x"/,
  },
  {
    name: "auth-provider",
    shape: () => ({ user: { "auth-provider": { name: "gcp" } } }),
    expect: /at users\.user, it uses "auth-provider", which Kubernetes 1.26 removed/,
  },
  {
    name: "the certificate of another CA",
    shape: async () => {
      const { certificate } = await TestAuthority.create("other");
      return { cluster: { "certificate-authority-data": base64(certificate) } };
    },
    expect: /^Cannot reach apiserver ".+": invalid peer certificate/,
  },
  {
    name: "a token that nobody knows",
    shape: () => ({ user: { token: "wrong" } }),
    expect: /Unauthorized/,
  },
  {
    name: "no current-context",
    shape: () => ({ whole: { clusters: [] } }),
    expect: /no current-context/,
  },
  {
    name: "a context that names a missing cluster",
    shape: () => ({
      whole: { "current-context": "c", contexts: [{ name: "c", context: { cluster: "x" } }] },
    }),
    expect: /"clusters" has no entry "x"/,
  },
  {
    name: "data that is no base64",
    shape: () => ({ cluster: { "certificate-authority-data": "%%%" } }),
    expect: /"certificate-authority-data" is not base64/,
  },
  {
    name: "text that is no YAML",
    shape: () => ({ text: "a: [" }),
    expect: /^Cannot use kubeconfig/,
  },
];

function execCredential(status: object): string {
  const apiVersion = "client.authentication.k8s.io/v1";
  return JSON.stringify({ apiVersion, kind: "ExecCredential", status });
}

function execPrinting(status: object) {
  const args = ["-c", 'printf "%s" "$CREDENTIAL"'];
  const env = [{ name: "CREDENTIAL", value: execCredential(status) }];
  return { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args, env };
}

async function connectWith(shape: Shape, fixture: Fixture): Promise<KubeClient> {
  const { access, write, folder } = fixture;
  const cluster = {
    server: access.url,
    "certificate-authority-data": base64(access.caCertificate),
    ...shape.cluster,
  };
  const whole = shape.whole ?? {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "here",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: shape.user ?? {} }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
  };
  const environment: Readonly<Record<string, string>> = shape.inCluster
    ? { KUBERNETES_SERVICE_HOST: new URL(access.url).hostname, KUBERNETES_SERVICE_PORT: "6443" }
    : {};
  if (shape.inCluster) {
    await write("ca.crt", access.caCertificate);
    await write("token", access.proxyToken);
  }
  const kubeconfig = await write("kubeconfig", shape.text ?? JSON.stringify(whole));
  return connect({
    kubeconfig: shape.inCluster ? "" : kubeconfig,
    master: shape.master ?? "",
    environment: (name) => environment[name],
    serviceAccountFolder: folder,
    userAgent: "kube-proxy/test",
    qps: 100,
    burst: 100,
    commands: new SystemCommands("/usr/bin:/bin"),
    clock,
  });
}

async function whoAmI(client: KubeClient): Promise<string> {
  const answer = await client.json({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    signal: AbortSignal.timeout(10_000),
  });
  return (answer as { status: { userInfo: { username: string } } }).status.userInfo.username;
}

/** An HTTP proxy that only knows CONNECT. */
function startProxy() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const proxy = { url: `http://127.0.0.1:${listener.addr.port}`, connections: 0 };
  const serve = async (inner: Deno.TcpConn) => {
    proxy.connections++;
    const head = new Uint8Array(4_096);
    const length = await inner.read(head) ?? 0;
    const target = new TextDecoder().decode(head.subarray(0, length)).split(" ")[1];
    const [hostname, port] = target.split(":");
    const outer = await Deno.connect({ hostname, port: Number(port) });
    await inner.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    const pipes = [inner.readable.pipeTo(outer.writable), outer.readable.pipeTo(inner.writable)];
    await Promise.allSettled(pipes);
  };
  (async () => {
    for await (const connection of listener) serve(connection).catch(() => {});
  })();
  return { proxy, close: () => listener.close() };
}

Deno.test({
  name: "kubeconfigs of every shape work, or are refused in a sentence that says what to do",
  // Connections stay open in clients that the program would keep for its whole life.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    await using plane = await ControlPlane.start();
    const folder = await Deno.makeTempDir();
    const { proxy, close } = startProxy();
    const write = async (name: string, text: string) => {
      await Deno.writeTextFile(`${folder}/${name}`, text);
      return `${folder}/${name}`;
    };
    const fixture: Fixture = {
      access: plane.access,
      folder,
      write,
      issue: (commonName, options = {}) => plane.authority.issue({ commonName, ...options }),
      proxy,
    };
    try {
      for (const { name, shape, expect, then, check } of rows) {
        await test.step(name, async () => {
          if (typeof expect !== "string") {
            const attempt = async () => whoAmI(await connectWith(await shape(fixture), fixture));
            return await assert.rejects(attempt, (error: Error) => {
              assert.match(error.message, expect);
              return true;
            });
          }
          const client = await connectWith(await shape(fixture), fixture);
          assert.equal(await whoAmI(client), expect);
          if (then) {
            const changed = await then(fixture);
            assert.equal(await whoAmI(client), changed);
          }
          check?.(fixture);
        });
      }
    } finally {
      close();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
