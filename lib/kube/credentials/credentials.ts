/**
 * Who we are at the moment: files and plugins are asked again for every request, so that rotated
 * certificates and tokens are used without a restart. Requests are few; a watch is one of them.
 */
import type { Clock } from "../../base/clock.ts";
import { readFile } from "../../base/files.ts";
import { ExecCredentials, type PluginCommands } from "./exec_plugin.ts";
import type { ClusterAccess, Impersonation, Material } from "./kubeconfig.ts";
import { encodeBase64 } from "./base64.ts";

/** What one request needs. Equal `tls` means that the connections at hand still serve. */
export interface CurrentCredentials {
  readonly tls: TlsMaterial;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** PEM texts; empty where there is none. */
export interface TlsMaterial {
  readonly certificateAuthority: string;
  readonly certificate: string;
  readonly key: string;
}

export interface CredentialsOptions {
  readonly clock: Clock;
  readonly commands: PluginCommands;
}

const maxBytes = 4 * 1024 * 1024;

/** The credentials of one cluster access. */
export class Credentials {
  readonly #access: ClusterAccess;
  readonly #options: CredentialsOptions;
  #exec: ExecCredentials | undefined;
  #systemRoots: string | undefined;

  constructor(access: ClusterAccess, options: CredentialsOptions) {
    this.#access = access;
    this.#options = options;
  }

  /** Reads them; `refresh` also asks a plugin again whose answer has not expired. */
  async current(options: { readonly refresh: boolean }): Promise<CurrentCredentials> {
    const access = this.#access;
    const [certificateAuthority, certificate, key, token] = await Promise.all([
      readMaterial(access.certificateAuthority),
      readMaterial(access.clientCertificate),
      readMaterial(access.clientKey),
      readMaterial(access.token),
    ]);
    const trusted = certificateAuthority === "" ? await this.#roots() : certificateAuthority;
    const tls = { certificateAuthority: trusted, certificate, key };
    const headers = impersonationHeaders(access.impersonation);
    if (token.trim() !== "") headers.push(["authorization", `Bearer ${token.trim()}`]);
    else if (access.basicAuth) headers.push(["authorization", basic(access.basicAuth)]);
    if (!access.exec) return { tls, headers };

    this.#exec ??= new ExecCredentials(access, {
      plugin: access.exec,
      certificateAuthority,
      ...this.#options,
    });
    const printed = await this.#exec.get(options);
    if (printed.authorization !== "") headers.push(["authorization", printed.authorization]);
    if (printed.certificate === "") return { tls, headers };
    return { tls: { ...tls, certificate: printed.certificate, key: printed.key }, headers };
  }

  /** Read once, as upstream does: they change with the machine's updates, and are large. */
  async #roots(): Promise<string> {
    const { systemRoots, server } = this.#access;
    if (systemRoots === "" || !server.startsWith("https:")) return "";
    this.#systemRoots ??= await readMaterial({ kind: "file", path: systemRoots });
    return this.#systemRoots;
  }
}

async function readMaterial(material: Material | undefined): Promise<string> {
  if (!material) return "";
  if (material.kind === "inline") return material.text;
  return new TextDecoder().decode(await readFile(material.path, { maxBytes }));
}

function basic({ username, password }: { username: string; password: string }): string {
  return `Basic ${encodeBase64(`${username}:${password}`)}`;
}

function impersonationHeaders(impersonation: Impersonation | undefined): [string, string][] {
  if (!impersonation) return [];
  const headers: [string, string][] = [["impersonate-user", impersonation.user]];
  if (impersonation.uid !== "") headers.push(["impersonate-uid", impersonation.uid]);
  for (const group of impersonation.groups) headers.push(["impersonate-group", group]);
  for (const [key, values] of impersonation.extra) {
    const name = `impersonate-extra-${encodeURIComponent(key)}`;
    for (const value of values) headers.push([name, value]);
  }
  return headers;
}
