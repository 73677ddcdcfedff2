/** Writes objects to a control plane by plain requests: fast, and none of the program's own code. */
import type { ControlPlaneAccess } from "./control_plane.ts";

/** An object as the API spells it. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

const resources: Readonly<Record<string, string>> = {
  ConfigMap: "configmaps",
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  EndpointSlice: "endpointslices",
  Event: "events",
  Namespace: "namespaces",
  Node: "nodes",
  Role: "roles",
  Service: "services",
  ServiceAccount: "serviceaccounts",
  ServiceCIDR: "servicecidrs",
};

const concurrency = 24;

/** Requests by the cluster's administrator unless another token is given. */
export class ApiClient implements Disposable {
  readonly #access: ControlPlaneAccess;
  readonly #token: string;
  readonly #client: Deno.HttpClient;

  constructor(access: ControlPlaneAccess, token = access.adminToken) {
    this.#access = access;
    this.#token = token;
    this.#client = Deno.createHttpClient({ caCerts: [access.caCertificate] });
  }

  create(object: ManifestObject): Promise<ManifestObject> {
    return this.request("POST", collectionPath(object), object);
  }

  /** Creates many at once; resolves when all are there. */
  async createAll(objects: readonly ManifestObject[]): Promise<void> {
    let next = 0;
    const work = async () => {
      while (next < objects.length) await this.create(objects[next++]);
    };
    await Promise.all(Array.from({ length: concurrency }, work));
  }

  /** Replaces the object as a whole, whatever its version is. */
  update(object: ManifestObject): Promise<ManifestObject> {
    return this.request("PUT", objectPath(object), object);
  }

  /** A merge patch; `subresource` such as "status" where the field lives there. */
  patch(
    object: ManifestObject,
    change: unknown,
    subresource?: string,
  ): Promise<ManifestObject> {
    const path = objectPath(object) + (subresource ? `/${subresource}` : "");
    return this.request("PATCH", path, change);
  }

  get(object: ManifestObject): Promise<ManifestObject> {
    return this.request("GET", objectPath(object));
  }

  /** An object that is gone already is fine. A Namespace is finalized, since no controller runs. */
  async delete(object: ManifestObject): Promise<void> {
    try {
      await this.request("DELETE", objectPath(object));
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("NotFound"))) throw error;
      return;
    }
    if (object.kind !== "Namespace") return;
    const finalized = { ...await this.get(object), spec: { finalizers: [] } };
    await this.request("PUT", `${objectPath(object)}/finalize`, finalized);
  }

  /** Any request that answers with JSON; a refusal is thrown with the server's own words. */
  async request<T = ManifestObject>(method: string, path: string, body?: unknown): Promise<T> {
    return JSON.parse(await this.requestText(method, path, body));
  }

  /** Any request, such as for "/metrics". */
  async requestText(method: string, path: string, body?: unknown): Promise<string> {
    const response = await fetch(this.#access.url + path, {
      method,
      client: this.#client,
      headers: {
        authorization: `Bearer ${this.#token}`,
        "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (response.ok) return text;
    throw new Error(`Cannot ${method} "${path}": ${response.status} ${text.trim()}`);
  }

  /** The body of a request that goes on, such as a watch, until somebody cancels it. */
  async stream(path: string): Promise<ReadableStream<Uint8Array>> {
    const response = await fetch(this.#access.url + path, {
      client: this.#client,
      headers: { authorization: `Bearer ${this.#token}` },
    });
    if (response.ok && response.body) return response.body;
    throw new Error(`Cannot GET "${path}": ${response.status} ${await response.text()}`);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** The path of the collection that the object belongs to. */
function collectionPath(object: ManifestObject): string {
  const group = object.apiVersion === "v1" ? "/api/v1" : `/apis/${object.apiVersion}`;
  const resource = resources[object.kind];
  if (!resource) throw new TypeError(`Unknown kind "${object.kind}"; add it to the table above`);
  const { namespace } = object.metadata;
  return namespace ? `${group}/namespaces/${namespace}/${resource}` : `${group}/${resource}`;
}

/** The path of the object itself. */
function objectPath(object: ManifestObject): string {
  return `${collectionPath(object)}/${object.metadata.name}`;
}
