/**
 * Records what a real apiserver answers to lists, watches and impossible wishes, in protobuf and in
 * JSON, for `tests/lib/kube/recorded_test.ts`:
 *   deno run -A tests/peers/record_protobuf.ts
 */
import { ApiClient, type ManifestObject } from "../controlplane/rig/api.ts";
import { controlPlaneVersion } from "../controlplane/rig/binaries.ts";
import { ControlPlane } from "../controlplane/rig/control_plane.ts";
import { namespaceObject } from "../controlplane/rig/objects.ts";
import {
  changedLater,
  listedObjects,
  statusOf,
  type StoredResource,
  storedResources,
} from "./protobuf_objects.ts";
import type { BothEncodings, RecordedAnswer, RecordedResource } from "./recorded_protobuf.ts";

const folder = new URL("./recorded/protobuf/", import.meta.url);
const head = { version: controlPlaneVersion, date: new Date().toISOString().slice(0, 10) };
const maxTries = 10;

await using plane = await ControlPlane.start();
const { access } = plane;
using api = new ApiClient(access);
using http = Deno.createHttpClient({ caCerts: [access.caCertificate] });
await Deno.mkdir(folder, { recursive: true });
await api.create(namespaceObject("recorded"));
for (const resource of storedResources) {
  for (const object of listedObjects[resource.name]) await create(object);
  await write(resource.name, await recordResource(resource));
}
await write("refusals", {
  "not found": await ask("/api/v1/nodes/nobody", access.adminToken),
  forbidden: await ask("/api/v1/configmaps", access.proxyToken),
  "from the future": await ask(
    "/api/v1/services?resourceVersion=999999999&resourceVersionMatch=NotOlderThan",
    access.adminToken,
  ),
  expired: await askNewServer(),
});

/** Only what it saw since it started is in a server's cache of changes. */
async function askNewServer(): Promise<BothEncodings> {
  await plane.stopApiserver();
  await plane.startApiserver();
  return ask("/api/v1/services?watch=true&resourceVersion=1&timeoutSeconds=2", access.adminToken);
}

async function recordResource(resource: StoredResource): Promise<RecordedResource> {
  const { path } = resource;
  const partial = resource.metadataOnly ? "PartialObjectMetadataList" : "";
  const { metadata } = await api.request<{ metadata: { resourceVersion: string } }>("GET", path);
  const exactly = `resourceVersion=${metadata.resourceVersion}`;
  const list = (query: string) =>
    ask(`${path}?${exactly}&resourceVersionMatch=Exact${query}`, access.adminToken, partial);
  const watch = (query: string) =>
    ask(`${path}?watch=true&${query}`, access.adminToken, partial.replace("List", ""));
  const listed = await list("");
  const page = await list("&limit=1");
  const changes = watch(`${exactly}&timeoutSeconds=4`);
  for (const object of changedLater[resource.name]) await changeAndDelete(object);
  const initial = () =>
    watch(
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1",
    );
  return {
    list: listed,
    page,
    changes: await changes,
    initial: await inOneVersion(initial),
  };
}

/** The bookmark behind the initial events tells the server's version, which moves on by itself. */
async function inOneVersion(record: () => Promise<BothEncodings>): Promise<BothEncodings> {
  for (let tries = 0; tries < maxTries; tries++) {
    const both = await record();
    const last = both.json.body.trim().split("\n").at(-1) ?? "";
    const { resourceVersion } = JSON.parse(last).object.metadata;
    if (atob(both.protobuf.body).includes(resourceVersion)) return both;
  }
  throw new Error(`Cannot record one version in both encodings: not in ${maxTries} tries`);
}

async function create(object: ManifestObject): Promise<void> {
  await api.create(object);
  const status = statusOf(object);
  if (status !== undefined) await api.patch(object, { status }, "status");
}

async function changeAndDelete(object: ManifestObject): Promise<void> {
  await api.create(object);
  await api.patch(object, { metadata: { labels: { changed: "yes" } } });
  await api.delete(object);
}

async function ask(path: string, token: string, partial = ""): Promise<BothEncodings> {
  const as = partial === "" ? "" : `;as=${partial};g=meta.k8s.io;v=v1`;
  const [protobuf, json] = await Promise.all(
    ["application/vnd.kubernetes.protobuf", "application/json"].map(async (type) => {
      const response = await fetch(access.url + path, {
        client: http,
        headers: { accept: type + as, authorization: `Bearer ${token}` },
      });
      const bytes = new Uint8Array(await response.arrayBuffer());
      return { status: response.status, bytes };
    }),
  );
  const inProtobuf: RecordedAnswer = { status: protobuf.status, body: protobuf.bytes.toBase64() };
  const inJson: RecordedAnswer = {
    status: json.status,
    body: new TextDecoder().decode(json.bytes),
  };
  return { protobuf: inProtobuf, json: inJson };
}

async function write(name: string, record: object): Promise<void> {
  const text = JSON.stringify({ ...head, ...record }, null, 2);
  await Deno.writeTextFile(new URL(`${name}.json`, folder), `${text}\n`);
}
