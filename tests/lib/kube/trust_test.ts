/** Whom the whole program trusts, in a process whose store of roots holds a stranger's CA. */
import assert from "node:assert/strict";
import { TestAuthority } from "../../fakes/certificates.ts";

const rows: readonly {
  readonly name: string;
  /** Whose certificate the server shows. */
  readonly server: "own" | "public";
  /** Whether the kubeconfig names the own CA. */
  readonly namesCa: boolean;
  readonly trusted: boolean;
}[] = [
  { name: "the kubeconfig's CA", server: "own", namesCa: true, trusted: true },
  { name: "not a public root beside it", server: "public", namesCa: true, trusted: false },
  { name: "the machine's roots without a CA", server: "public", namesCa: false, trusted: true },
  { name: "nobody else without a CA", server: "own", namesCa: false, trusted: false },
];

for (const { name, server, namesCa, trusted } of rows) {
  Deno.test(`kube-proxy trusts ${name}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const publicRoot = await TestAuthority.create("public-root");
      const own = await TestAuthority.create("cluster-ca");
      const authority = server === "own" ? own : publicRoot;
      const { certificate: cert, key } = await authority.issue({
        commonName: "apiserver",
        names: ["127.0.0.1"],
      });
      await using apiserver = Deno.serve({
        hostname: "127.0.0.1",
        port: 0,
        cert,
        key,
        onListen: () => {},
      }, () => Response.json({ message: "the server answered" }, { status: 418 }));
      await Deno.writeTextFile(`${folder}/roots.pem`, publicRoot.certificate);
      await Deno.writeTextFile(
        `${folder}/kubeconfig`,
        kubeconfig(apiserver.addr.port, namesCa ? own.certificate : ""),
      );
      const said = await listNamespaces(folder);
      if (trusted) assert.match(said, /the server answered/);
      else assert.match(said, /invalid peer certificate: UnknownIssuer/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

function kubeconfig(port: number, ca: string): string {
  const trust = ca === "" ? {} : { "certificate-authority-data": btoa(ca) };
  return JSON.stringify({
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${port}`, ...trust } }],
    contexts: [{ name: "c", context: { cluster: "c" } }],
  });
}

/** The store that the runtime itself would use is that of the machine, which holds the public root. */
async function listNamespaces(folder: string): Promise<string> {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "main.ts", "namespaces", "list"]
      .concat("--kubeconfig", `${folder}/kubeconfig`),
    env: { DENO_TLS_CA_STORE: "system", SSL_CERT_FILE: `${folder}/roots.pem` },
    stdout: "null",
    stderr: "piped",
  }).output();
  return new TextDecoder().decode(stderr);
}
