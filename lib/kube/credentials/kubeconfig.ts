/**
 * Kubeconfig files as far as a daemon needs them: which server, whom to trust, who we are. Read here
 * and not by a client library, because that library costs more start-up time than all the rest of it.
 */
import { decodeBase64 } from "./base64.ts";

/** Text that stands in the file itself, or in a file of its own that may change at any time. */
export type Material =
  | { readonly kind: "inline"; readonly text: string }
  | { readonly kind: "file"; readonly path: string };

/** A credential plugin: a command that prints tokens or certificates. */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly provideClusterInfo: boolean;
}

/** Whom the requests pretend to come from. */
export interface Impersonation {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** What the current context of a kubeconfig says, or the pod's own service account. */
export interface ClusterAccess {
  /** Without a slash at its end. Empty when only --master names the server. */
  readonly server: string;
  readonly certificateAuthority?: Material;
  /** The machine's own roots as a PEM file, trusted where no CA is given; empty where it has none. */
  readonly systemRoots: string;
  readonly tlsServerName: string;
  readonly insecureSkipTlsVerify: boolean;
  /** Empty when the environment's proxy, if any, holds. */
  readonly proxyUrl: string;
  readonly disableCompression: boolean;
  readonly clientCertificate?: Material;
  readonly clientKey?: Material;
  readonly token?: Material;
  readonly basicAuth?: { readonly username: string; readonly password: string };
  readonly exec?: ExecPlugin;
  readonly impersonation?: Impersonation;
}

/** Nothing but an address, as --master alone gives. */
export const anonymousAccess: ClusterAccess = {
  server: "",
  systemRoots: "",
  tlsServerName: "",
  insecureSkipTlsVerify: false,
  proxyUrl: "",
  disableCompression: false,
};

/** Where the file came from: relative paths in it start at its folder. */
export interface KubeconfigSource {
  readonly path: string;
}

/** Reads the current context out of a parsed kubeconfig. Throws a SyntaxError that names the fault. */
export function readKubeconfig(document: unknown, source: KubeconfigSource): ClusterAccess {
  const config = new Section(document, { path: "", source });
  const current = config.text("current-context");
  if (current === "") {
    throw config.fault("it has no current-context; set one with kubectl config use-context");
  }
  const context = config.named("contexts", current).section("context");
  const cluster = config.named("clusters", context.text("cluster")).section("cluster");
  const userName = context.text("user");
  const user = userName === ""
    ? new Section({}, { path: "user", source })
    : config.named("users", userName).section("user");
  return { ...anonymousAccess, ...readCluster(cluster), ...readUser(user) };
}

function readCluster(cluster: Section) {
  return {
    server: cluster.text("server").replace(/\/+$/, ""),
    certificateAuthority: cluster.material("certificate-authority"),
    tlsServerName: cluster.text("tls-server-name"),
    insecureSkipTlsVerify: cluster.flag("insecure-skip-tls-verify"),
    proxyUrl: cluster.text("proxy-url"),
    disableCompression: cluster.flag("disable-compression"),
  };
}

function readUser(user: Section) {
  if (user.has("auth-provider")) {
    throw user.fault(
      'it uses "auth-provider", which Kubernetes 1.26 removed; use the plugin\'s exec form instead',
    );
  }
  const username = user.text("username");
  // A token file wins over a token beside it, and is read again whenever it changes.
  const tokenFile = user.text("tokenFile");
  const token = user.text("token");
  return {
    clientCertificate: user.material("client-certificate"),
    clientKey: user.material("client-key"),
    token: tokenFile !== ""
      ? user.file(tokenFile)
      : token === ""
      ? undefined
      : { kind: "inline" as const, text: token },
    basicAuth: username === "" ? undefined : { username, password: user.text("password") },
    exec: user.has("exec") ? readExec(user.section("exec")) : undefined,
    impersonation: readImpersonation(user),
  };
}

function readExec(exec: Section): ExecPlugin {
  const command = exec.text("command");
  if (command === "") throw exec.fault("it names no command");
  return {
    apiVersion: exec.text("apiVersion"),
    // A command with a slash is relative to the file; one without is looked up in PATH.
    command: command.includes("/") ? exec.file(command).path : command,
    args: exec.texts("args"),
    env: exec.sections("env").map((entry) => ({
      name: entry.text("name"),
      value: entry.text("value"),
    })),
    provideClusterInfo: exec.flag("provideClusterInfo"),
  };
}

function readImpersonation(user: Section): Impersonation | undefined {
  const name = user.text("as");
  if (name === "") return undefined;
  const extra = user.has("as-user-extra") ? user.section("as-user-extra") : undefined;
  return {
    user: name,
    uid: user.text("as-uid"),
    groups: user.texts("as-groups"),
    extra: new Map(extra?.keys().map((key) => [key, extra.texts(key)])),
  };
}

/** A mapping of the document: absent and null fields read as empty, a wrong type is an error. */
class Section {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #path: string;
  readonly #source: KubeconfigSource;

  constructor(value: unknown, at: { readonly path: string; readonly source: KubeconfigSource }) {
    this.#path = at.path;
    this.#source = at.source;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.fault("it is not a mapping");
    }
    this.#fields = new Map(Object.entries(value));
  }

  keys(): readonly string[] {
    return [...this.#fields.keys()].sort();
  }

  has(name: string): boolean {
    return (this.#fields.get(name) ?? null) !== null;
  }

  text(name: string): string {
    const value = this.#fields.get(name) ?? "";
    if (typeof value !== "string") throw this.fault(`"${name}" is not a string`);
    return value;
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name) ?? false;
    if (typeof value !== "boolean") throw this.fault(`"${name}" is neither true nor false`);
    return value;
  }

  texts(name: string): readonly string[] {
    const texts = this.#list(name).filter((item) => typeof item === "string");
    if (texts.length !== this.#list(name).length) {
      throw this.fault(`"${name}" is not a list of strings`);
    }
    return texts;
  }

  section(name: string): Section {
    return new Section(this.#fields.get(name) ?? {}, this.#at(name));
  }

  sections(name: string): readonly Section[] {
    return this.#list(name).map((item) => new Section(item, this.#at(name)));
  }

  /** The entry of a list of `{name, ...}`; the first of equal names counts. */
  named(list: string, name: string): Section {
    const entry = this.sections(list).find((section) => section.text("name") === name);
    if (!entry) throw this.fault(`"${list}" has no entry "${name}"`);
    return entry;
  }

  /** `NAME-data` holds base64, and wins over `NAME`, which is a path. */
  material(name: string): Material | undefined {
    const data = this.text(`${name}-data`);
    if (data !== "") {
      const text = decodeBase64(data);
      if (text === undefined) throw this.fault(`"${name}-data" is not base64`);
      return { kind: "inline", text };
    }
    const path = this.text(name);
    return path === "" ? undefined : this.file(path);
  }

  file(path: string): { readonly kind: "file"; readonly path: string } {
    if (path.startsWith("/")) return { kind: "file", path };
    const folder = this.#source.path.replace(/[^/]*$/, "");
    return { kind: "file", path: `${folder || "./"}${path}` };
  }

  fault(cause: string): SyntaxError {
    const place = this.#path === "" ? "" : `at ${this.#path}, `;
    return new SyntaxError(`Cannot use kubeconfig "${this.#source.path}": ${place}${cause}`);
  }

  #list(name: string): readonly unknown[] {
    const value = this.#fields.get(name) ?? [];
    if (!Array.isArray(value)) throw this.fault(`"${name}" is not a list`);
    return value;
  }

  #at(name: string): { readonly path: string; readonly source: KubeconfigSource } {
    return { path: this.#path === "" ? name : `${this.#path}.${name}`, source: this.#source };
  }
}
