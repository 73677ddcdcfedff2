/**
 * Credential plugins. Running them is client-node's work, the one place where a process is started
 * outside the kernel's room; it is loaded only where a kubeconfig asks for it.
 */
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { encodeBase64 } from "./base64.ts";
import type { ClusterAccess, ExecPlugin } from "./kubeconfig.ts";

/** What a plugin printed; parts that it did not print are empty. */
export interface ExecCredential {
  /** The whole Authorization header. */
  readonly authorization: string;
  readonly certificate: string;
  readonly key: string;
}

export interface ExecCredentialsOptions {
  readonly plugin: ExecPlugin;
  /** The CA's certificate as PEM, for plugins that want to know the cluster. */
  readonly certificateAuthority: string;
  readonly clock: Clock;
}

/** What is used of client-node's KubeConfig. */
interface PluginRunner {
  applyToHTTPSOptions(request: PluginAnswer): Promise<void>;
}

interface PluginAnswer {
  headers?: Record<string, unknown>;
  cert?: unknown;
  key?: unknown;
}

// Plugins that name no expiry would otherwise run for every request.
const reuseMs = 60_000;

/** Asks a plugin, and keeps its answer until it expires. */
export class ExecCredentials {
  readonly #access: ClusterAccess;
  readonly #options: ExecCredentialsOptions;
  #runner: PluginRunner | undefined;
  #held: { readonly credential: ExecCredential; readonly atMs: number } | undefined;

  constructor(access: ClusterAccess, options: ExecCredentialsOptions) {
    this.#access = access;
    this.#options = options;
  }

  /** `refresh` asks again although the last answer has not expired: the server refused it. */
  async get(options: { readonly refresh: boolean }): Promise<ExecCredential> {
    const now = this.#options.clock.monotonic();
    if (options.refresh) this.#runner = undefined;
    else if (this.#held && now - this.#held.atMs < reuseMs) return this.#held.credential;
    const credential = await this.#run();
    this.#held = { credential, atMs: now };
    return credential;
  }

  async #run(): Promise<ExecCredential> {
    const request: PluginAnswer = {};
    const { command } = this.#options.plugin;
    try {
      this.#runner ??= await this.#createRunner();
      await this.#runner.applyToHTTPSOptions(request);
    } catch (error) {
      const cause = describeError(error);
      throw new Error(
        `Cannot get credentials from "${command}": ${cause}; run it by hand to see what it lacks`,
        { cause: error },
      );
    }
    const credential = {
      authorization: textOf(request.headers?.Authorization),
      certificate: textOf(request.cert),
      key: textOf(request.key),
    };
    if (
      credential.authorization === "" && (credential.certificate === "" || credential.key === "")
    ) {
      throw new Error(
        `Cannot get credentials from "${command}": it printed neither a token nor a certificate ` +
          "with its key; run it by hand to see what it prints",
      );
    }
    return credential;
  }

  async #createRunner(): Promise<PluginRunner> {
    const { KubeConfig } = await import("@kubernetes/client-node");
    const { plugin } = this.#options;
    const config = new KubeConfig();
    const env = [...plugin.env, { name: "KUBERNETES_EXEC_INFO", value: this.#execInfo() }];
    config.loadFromOptions({
      clusters: [{ name: "cluster", server: this.#access.server }],
      users: [{
        name: "user",
        exec: { apiVersion: plugin.apiVersion, command: plugin.command, args: plugin.args, env },
      }],
      contexts: [{ name: "context", cluster: "cluster", user: "user" }],
      currentContext: "context",
    });
    return config;
  }

  /** What client.authentication.k8s.io gives every plugin, and client-node does not. */
  #execInfo(): string {
    const { plugin, certificateAuthority } = this.#options;
    const cluster = plugin.provideClusterInfo
      ? {
        cluster: {
          server: this.#access.server,
          "certificate-authority-data": encodeBase64(certificateAuthority),
        },
      }
      : {};
    const spec = { interactive: false, ...cluster };
    return JSON.stringify({ apiVersion: plugin.apiVersion, kind: "ExecCredential", spec });
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
