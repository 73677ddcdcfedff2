/**
 * Credential plugins: a command of the kubeconfig prints an ExecCredential. Whoever puts the client
 * together hands in how a command is run; a plugin that is missing for a while, as during its own
 * update, is an error of the requests meanwhile and of nothing else.
 */
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { asObject, objectAt, textAt } from "../json/values.ts";
import { encodeBase64 } from "./base64.ts";
import type { ClusterAccess, ExecPlugin } from "./kubeconfig.ts";

/** Runs a command to its end; throws when it cannot be run at all. */
export interface PluginCommands {
  run(
    argv: readonly string[],
    options: { readonly env: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
}

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
  readonly commands: PluginCommands;
  readonly clock: Clock;
}

interface Answer {
  readonly credential: ExecCredential;
  /** By the wall clock; 0 where the plugin names no expiry. */
  readonly expiresMs: number;
}

// Plugins that name no expiry would otherwise run for every request.
const reuseMs = 60_000;
const runTimeoutMs = 60_000;

/** Asks a plugin, and keeps its answer until it expires. */
export class ExecCredentials {
  readonly #access: ClusterAccess;
  readonly #options: ExecCredentialsOptions;
  #held: Answer & { readonly atMs: number } | undefined;
  #running: Promise<ExecCredential> | undefined;

  constructor(access: ClusterAccess, options: ExecCredentialsOptions) {
    this.#access = access;
    this.#options = options;
  }

  /**
   * `refresh` asks again although the last answer has not expired: the server refused it. Whoever
   * asks while the plugin runs shares its answer.
   */
  get(options: { readonly refresh: boolean }): Promise<ExecCredential> {
    if (!options.refresh && this.#held && this.#isGood(this.#held)) {
      return Promise.resolve(this.#held.credential);
    }
    this.#running ??= this.#ask().finally(() => this.#running = undefined);
    return this.#running;
  }

  #isGood({ atMs, expiresMs }: Answer & { readonly atMs: number }): boolean {
    const { clock } = this.#options;
    return clock.monotonic() - atMs < reuseMs || clock.now() < expiresMs;
  }

  async #ask(): Promise<ExecCredential> {
    const { clock, plugin } = this.#options;
    try {
      const answer = readAnswer(await this.#run(), plugin);
      this.#held = { ...answer, atMs: clock.monotonic() };
      return answer.credential;
    } catch (error) {
      throw new Error(
        `Cannot get credentials from "${plugin.command}": ${describeError(error)}; ` +
          "run it by hand to see what it lacks",
        { cause: error },
      );
    }
  }

  async #run(): Promise<string> {
    const { commands, plugin } = this.#options;
    const env: Record<string, string> = {};
    for (const { name, value } of plugin.env) env[name] = value;
    env.KUBERNETES_EXEC_INFO = this.#execInfo();
    const argv = [plugin.command, ...plugin.args];
    const running = commands.run(argv, { env, signal: AbortSignal.timeout(runTimeoutMs) });
    const { exitCode, stdout, stderr } = await running.catch((error) => {
      // Arguments may hold secrets, and logs are read by many.
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(message.replace(`Cannot run "${argv.join(" ")}": `, ""), { cause: error });
    });
    if (exitCode === 0) return stdout;
    const lastLine = stderr.trim().split("\n").at(-1);
    throw new Error(lastLine ? `exit code ${exitCode}: ${lastLine}` : `exit code ${exitCode}`);
  }

  /** What client.authentication.k8s.io tells every plugin. */
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

/** `{"apiVersion": ..., "kind": "ExecCredential", "status": {"token": ..., "expirationTimestamp": ...}}` */
function readAnswer(text: string, plugin: ExecPlugin): Answer {
  const printed = asObject(parse(text));
  const kind = textAt(printed, "kind");
  if (kind !== "ExecCredential") throw new Error(`it printed a "${kind}" and no ExecCredential`);
  const version = textAt(printed, "apiVersion");
  if (version !== plugin.apiVersion) {
    throw new Error(`it printed "${version}", and the kubeconfig says "${plugin.apiVersion}"`);
  }
  const status = objectAt(printed, "status");
  const token = textAt(status, "token");
  const certificate = textAt(status, "clientCertificateData");
  const key = textAt(status, "clientKeyData");
  if ((certificate === "") !== (key === "")) {
    throw new Error("it printed a certificate without its key, or a key without its certificate");
  }
  if (token === "" && certificate === "") {
    throw new Error("it printed neither a token nor a certificate with its key");
  }
  return {
    credential: { authorization: token === "" ? "" : `Bearer ${token}`, certificate, key },
    expiresMs: Date.parse(textAt(status, "expirationTimestamp")) || 0,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error("it printed no JSON", { cause: error });
  }
}
