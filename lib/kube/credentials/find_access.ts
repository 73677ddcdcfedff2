/** Decides which cluster the program talks to, from flags, files and the pod's environment. */
import { isFile, readFile } from "../../base/files.ts";
import { decodeText, plainValue, readYaml, type YamlProblem } from "../../base/yaml.ts";
import { anonymousAccess, type ClusterAccess, readKubeconfig } from "./kubeconfig.ts";

/** Where to look; the environment is passed in because only the program's entry reads it. */
export interface AccessOptions {
  /** `--kubeconfig` or `clientConnection.kubeconfig`; empty when not given. */
  readonly kubeconfig: string;
  /** `--master`: wins over the kubeconfig's server; empty when not given. */
  readonly master: string;
  readonly environment: (name: string) => string | undefined;
  /** The folder that a pod's service account is mounted at. */
  readonly serviceAccountFolder?: string;
}

const maxKubeconfigBytes = 4 * 1024 * 1024;
const defaultServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Where the distributions keep their roots; the same files as Go's programs look at. */
const systemRootFiles = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
] as const;

/**
 * A kubeconfig if one is given, else --master alone, else the pod's service account. Refuses in one
 * sentence what cannot work.
 */
export async function findAccess(options: AccessOptions): Promise<ClusterAccess> {
  const access = await givenAccess(options);
  const server = normalizedServer(options.master || access.server, access);
  const systemRoots = access.certificateAuthority ? "" : await findSystemRoots(options);
  const checked = { ...access, server, systemRoots };
  refuseUnsupported(checked);
  return checked;
}

/**
 * The process's own store of roots is kept empty, because the runtime adds it to the CA of every
 * client: a cluster's CA would never be the only one that is trusted.
 */
async function findSystemRoots({ environment }: AccessOptions): Promise<string> {
  const given = environment("SSL_CERT_FILE") ?? "";
  if (given !== "") return given;
  for (const path of systemRootFiles) if (await isFile(path)) return path;
  return "";
}

async function givenAccess(options: AccessOptions): Promise<ClusterAccess> {
  const { kubeconfig, master } = options;
  if (kubeconfig === "") return master === "" ? inClusterAccess(options) : anonymousAccess;
  const bytes = await readFile(kubeconfig, { maxBytes: maxKubeconfigBytes });
  return readKubeconfig(parseDocument(bytes, kubeconfig), { path: kubeconfig });
}

function parseDocument(bytes: Uint8Array, path: string): unknown {
  const text = decodeText(bytes, path);
  if (typeof text !== "string") throw fault(path, text);
  const [document] = readYaml(text, { source: path });
  if (!document) throw new SyntaxError(`Cannot use kubeconfig "${path}": it is empty`);
  if (document.problems.length > 0) throw fault(path, document.problems[0]);
  return document.root ? plainValue(document.root) : undefined;
}

function fault(path: string, { place, message }: YamlProblem): SyntaxError {
  return new SyntaxError(`Cannot use kubeconfig "${path}": line ${place.line}: ${message}`);
}

function inClusterAccess(options: AccessOptions): ClusterAccess {
  const host = options.environment("KUBERNETES_SERVICE_HOST") ?? "";
  const port = options.environment("KUBERNETES_SERVICE_PORT") ?? "";
  if (host === "" || port === "") {
    throw new TypeError(
      "Cannot find an apiserver: neither --kubeconfig nor --master is given, and this is no pod " +
        "(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set); give --kubeconfig",
    );
  }
  const folder = options.serviceAccountFolder ?? defaultServiceAccountFolder;
  const address = host.includes(":") ? `[${host}]` : host;
  return {
    ...anonymousAccess,
    server: `https://${address}:${port}`,
    certificateAuthority: { kind: "file", path: `${folder}/ca.crt` },
    token: { kind: "file", path: `${folder}/token` },
  };
}

/** As clients of Kubernetes do: no scheme is https where there is anything of TLS, else http. */
function normalizedServer(server: string, access: ClusterAccess): string {
  if (server === "") {
    throw new TypeError("Cannot find an apiserver: the kubeconfig names no server; give --master");
  }
  const secure = access.certificateAuthority || access.clientCertificate || access.token ||
    access.insecureSkipTlsVerify;
  const full = server.includes("://") ? server : `${secure ? "https" : "http"}://${server}`;
  const url = URL.parse(full);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new TypeError(`Cannot use apiserver "${server}": it is no http or https URL`);
  }
  return full.replace(/\/+$/, "");
}

/**
 * The runtime's TLS has neither an override of the name nor a way to trust anybody; a look-alike of
 * either would weaken what the user asked for, so both are refused with the way that works.
 */
function refuseUnsupported(access: ClusterAccess): void {
  const { hostname, port } = new URL(access.server);
  if (access.insecureSkipTlsVerify && access.server.startsWith("https:")) {
    throw new TypeError(
      `Cannot use apiserver "${access.server}": insecure-skip-tls-verify is not supported; remove ` +
        "it and put the certificate of the server's CA into certificate-authority-data",
    );
  }
  const name = access.tlsServerName;
  if (name !== "" && name !== hostname.replace(/^\[|\]$/g, "")) {
    throw new TypeError(
      `Cannot use apiserver "${access.server}": tls-server-name is not supported; use server ` +
        `https://${name}${
          port === "" ? "" : `:${port}`
        }, and if that name does not resolve, put it ` +
        `with ${hostname} into /etc/hosts (or the pod's hostAliases)`,
    );
  }
  const proxy = access.proxyUrl;
  if (proxy !== "" && !/^(https?|socks5h?):\/\//.test(proxy)) {
    throw new TypeError(
      `Cannot use proxy-url "${proxy}": its scheme is none of http, https, socks5; change proxy-url`,
    );
  }
}
