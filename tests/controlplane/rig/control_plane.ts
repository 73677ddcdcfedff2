/**
 * A real etcd and a real kube-apiserver in a network namespace of their own, ready in a few seconds.
 * Authorization is RBAC with the built-in roles, so the proxy's token has exactly its real rights.
 */
import { signingKeyPair, TestAuthority } from "../../fakes/certificates.ts";
import { requireBinaries } from "./binaries.ts";
import { controlPlaneAddresses, ControlPlaneNetwork, enterNamespace, joinNode } from "./network.ts";

/** All that a test needs to reach a control plane; plain data, so that it can be handed on. */
export interface ControlPlaneAccess {
  /** Enter it with `enterNamespace`, or join nodes to it with `joinNode`. */
  readonly namespace: string;
  /** Good inside the namespace and from every joined node. */
  readonly url: string;
  readonly caCertificate: string;
  /** A member of system:masters. */
  readonly adminToken: string;
  /** The user system:kube-proxy, whom the built-in role system:node-proxier binds. */
  readonly proxyToken: string;
}

export interface ControlPlaneOptions {
  /** More arguments for kube-apiserver. */
  readonly apiserverArgs?: readonly string[];
}

/** A request of the proxy's user that the apiserver began to answer. */
export interface AskedRequest {
  readonly verb: "list" | "watch";
  /** With the namespace of one that is for one alone: `services in shop`. */
  readonly what: string;
}

/** Lists and watches of the proxy's user, once each. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived", "Panic"],
  rules: [
    { level: "Metadata", users: ["system:kube-proxy"], verbs: ["list", "watch"] },
    { level: "None" },
  ],
};

const port = 6443;
const etcdUrl = "http://127.0.0.1:2379";
const startDeadlineMs = 60_000;

/** One control plane; disposing ends its processes and removes namespace and files. */
export class ControlPlane implements AsyncDisposable {
  static #lastInNamespace: Promise<void> = Promise.resolve();

  readonly access: ControlPlaneAccess;
  readonly authority: TestAuthority;
  readonly #network: ControlPlaneNetwork;
  readonly #folder: string;
  readonly #binaries: string;
  readonly #options: ControlPlaneOptions;
  #etcd: Deno.ChildProcess | undefined;
  #apiserver: Deno.ChildProcess | undefined;

  private constructor(fields: {
    network: ControlPlaneNetwork;
    authority: TestAuthority;
    options: ControlPlaneOptions;
  }) {
    this.#network = fields.network;
    this.#folder = fields.network.folder;
    this.#binaries = requireBinaries();
    this.#options = fields.options;
    this.authority = fields.authority;
    this.access = {
      namespace: fields.network.namespace,
      url: `https://${controlPlaneAddresses.IPv4}:${port}`,
      caCertificate: fields.authority.certificate,
      adminToken: randomToken(),
      proxyToken: randomToken(),
    };
  }

  /** Resolves when the apiserver is ready; the calling thread is then in its namespace. */
  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    requireBinaries();
    const authority = await TestAuthority.create("control-plane-ca");
    const network = await ControlPlaneNetwork.create();
    const plane = new ControlPlane({ network, authority, options });
    try {
      await plane.#writeFiles();
      plane.startEtcd();
      await plane.startApiserver();
      return plane;
    } catch (error) {
      await plane[Symbol.asyncDispose]();
      throw error;
    }
  }

  startEtcd(): void {
    this.#etcd = this.#spawn("etcd", [
      `--data-dir=${this.#folder}/etcd`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      "--listen-peer-urls=http://127.0.0.1:0",
      "--unsafe-no-fsync",
      "--log-level=warn",
    ]);
  }

  /** Starts it, also after `stopApiserver`; resolves and moves the thread as `start` does. */
  async startApiserver(): Promise<void> {
    const apiserver = this.#spawn("kube-apiserver", [
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${port}`,
      "--bind-address=::",
      `--advertise-address=${controlPlaneAddresses.IPv4}`,
      "--endpoint-reconciler-type=none",
      "--service-cluster-ip-range=172.30.0.0/16,fd00:172:30::/108",
      "--service-account-issuer=https://control-plane.test",
      `--service-account-key-file=${this.#folder}/service-account.pub`,
      `--service-account-signing-key-file=${this.#folder}/service-account.key`,
      `--client-ca-file=${this.#folder}/ca.crt`,
      `--tls-cert-file=${this.#folder}/apiserver.crt`,
      `--tls-private-key-file=${this.#folder}/apiserver.key`,
      `--token-auth-file=${this.#folder}/tokens.csv`,
      `--audit-policy-file=${this.#folder}/audit-policy.json`,
      `--audit-log-path=${this.#auditLog}`,
      "--authorization-mode=RBAC",
      "--disable-admission-plugins=ServiceAccount",
      // Tests create thousands of objects at once and must not be the ones who are throttled.
      "--max-requests-inflight=3000",
      "--max-mutating-requests-inflight=3000",
      ...this.#options.apiserverArgs ?? [],
    ]);
    this.#apiserver = apiserver;
    await this.#untilReady(apiserver);
  }

  /** Joins a node's namespace; the calling thread is where the apiserver is. */
  join(node: string, link: { readonly index: number; readonly device: string }): Promise<void> {
    return joinNode(this.access.namespace, { node, ...link });
  }

  /** Ends the apiserver: SIGKILL unless told otherwise. Its connections are reset. */
  async stopApiserver(signal: Deno.Signal = "SIGKILL"): Promise<void> {
    await end(this.#apiserver, signal);
    this.#apiserver = undefined;
  }

  /** Forgets all revisions but the newest, as etcd's operators and the apiserver itself do regularly. */
  async compactEtcd(): Promise<void> {
    const { header } = await etcd<{ header: { revision: string } }>("range", { key: "AA==" });
    await etcd("compaction", { revision: header.revision, physical: true });
  }

  /** What the proxy's user has asked since the beginning, in order. */
  async asked(): Promise<readonly AskedRequest[]> {
    const lines = (await Deno.readTextFile(this.#auditLog).catch(() => "")).split("\n");
    // The last line may still be written.
    return lines.slice(0, -1).flatMap((line) => {
      const { verb, stage, objectRef } = JSON.parse(line);
      // A watch is told when it begins and when it ends.
      if (verb === "watch" && stage !== "ResponseStarted") return [];
      const { resource, namespace } = objectRef;
      return [{ verb, what: namespace ? `${resource} in ${namespace}` : resource }];
    });
  }

  get #auditLog(): string {
    return `${this.#folder}/audit.log`;
  }

  /** The last lines of a program's log, for the message of a failed test. */
  log(program: "etcd" | "kube-apiserver"): string {
    try {
      return Deno.readTextFileSync(`${this.#folder}/${program}.log`).split("\n").slice(-15).join(
        "\n",
      );
    } catch {
      return "";
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#apiserver, "SIGKILL");
    await end(this.#etcd, "SIGKILL");
    await this.#network[Symbol.asyncDispose]();
  }

  async #writeFiles(): Promise<void> {
    const serving = await this.authority.issue({
      commonName: "kube-apiserver",
      names: [
        ...Object.values(controlPlaneAddresses),
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes.default.svc",
      ],
    });
    const signing = await signingKeyPair();
    const files: Readonly<Record<string, string>> = {
      "apiserver.crt": serving.certificate,
      "audit-policy.json": JSON.stringify(auditPolicy),
      "apiserver.key": serving.key,
      "ca.crt": this.authority.certificate,
      "service-account.key": signing.privateKey,
      "service-account.pub": signing.publicKey,
      "tokens.csv": `${this.access.adminToken},admin,admin,system:masters\n` +
        `${this.access.proxyToken},system:kube-proxy,system:kube-proxy\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${this.#folder}/${name}`, text, { mode: 0o600 });
    }
  }

  /** Runs inside the namespace with its output in a file; the shell is replaced by the program. */
  #spawn(program: string, args: readonly string[]): Deno.ChildProcess {
    const script = 'exec "$0" "$@" >>"$LOG" 2>&1';
    return new Deno.Command("ip", {
      args: ["netns", "exec", this.#network.namespace, "sh", "-c", script]
        .concat(`${this.#binaries}/${program}`, args),
      env: { LOG: `${this.#folder}/${program}.log` },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  /** The thread is in one namespace at a time: whoever waits there has it alone. */
  async #untilReady(apiserver: Deno.ChildProcess): Promise<void> {
    const before = ControlPlane.#lastInNamespace;
    const { promise, resolve } = Promise.withResolvers<void>();
    ControlPlane.#lastInNamespace = promise;
    await before;
    try {
      await this.#untilReadyHere(apiserver);
    } finally {
      resolve();
    }
  }

  async #untilReadyHere(apiserver: Deno.ChildProcess): Promise<void> {
    let exited = false;
    apiserver.status.then(() => exited = true);
    enterNamespace(this.access.namespace);
    const deadline = Date.now() + startDeadlineMs;
    while (!exited && Date.now() < deadline) {
      if (await isReady(this.access)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const cause = exited ? "it exited" : `it was not ready after ${startDeadlineMs / 1000} s`;
    throw new Error(`Cannot start kube-apiserver: ${cause}:\n${this.log("kube-apiserver")}`);
  }
}

/** A call through etcd's JSON gateway. */
async function etcd<T>(call: "compaction" | "range", body: unknown): Promise<T> {
  const response = await fetch(`${etcdUrl}/v3/kv/${call}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`Cannot ask etcd for "${call}": ${await response.text()}`);
  return await response.json();
}

async function isReady(access: ControlPlaneAccess): Promise<boolean> {
  using client = Deno.createHttpClient({ caCerts: [access.caCertificate] });
  const headers = { authorization: `Bearer ${access.adminToken}` };
  try {
    const response = await fetch(`${access.url}/readyz`, { client, headers });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

async function end(child: Deno.ChildProcess | undefined, signal: Deno.Signal): Promise<void> {
  if (!child) return;
  try {
    child.kill(signal);
  } catch {
    // Gone already.
  }
  await child.status;
}

function randomToken(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toHex();
}
