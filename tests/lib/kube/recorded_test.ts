/**
 * The decoders on bytes that a real apiserver sent. What is expected is what the same server said of
 * the same objects in JSON, read here without the program's own decoders where that can be.
 */
import assert from "node:assert/strict";
import {
  decodeStatus,
  type Encoding,
  listDecoder,
  watchDecoder,
  type WatchEvent,
} from "../../../lib/kube/decoder.ts";
import type { ApiObject } from "../../../lib/kube/objects.ts";
import { TextCache } from "../../../lib/kube/protobuf/reader.ts";
import * as resources from "../../../lib/kube/resource.ts";
import type { Resource } from "../../../lib/kube/resource.ts";
import { ApiError } from "../../../lib/kube/status.ts";
import {
  type BothEncodings,
  bytesOf,
  recordedRefusals,
  recordedResource,
} from "../../peers/recorded_protobuf.ts";

const encodings = ["protobuf", "json"] as const;
const all: readonly Resource<ApiObject>[] = [
  resources.services,
  resources.endpointSlices,
  resources.nodes,
  resources.namespaces,
  resources.serviceCIDRs,
];

/** As a socket gives them: each chunk is a copy of its own. */
function* chunksOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

interface Decoding {
  readonly encoding: Encoding;
  readonly size?: number;
}

function decodeList<T extends ApiObject>(
  resource: Resource<T>,
  answer: BothEncodings,
  { encoding, size = 1_000_000 }: Decoding,
) {
  const decoder = listDecoder(resource, { encoding, cache: new TextCache() });
  for (const chunk of chunksOf(bytesOf(encoding, answer[encoding]), size)) decoder.push(chunk);
  return decoder.end();
}

function decodeWatch<T extends ApiObject>(
  resource: Resource<T>,
  answer: BothEncodings,
  { encoding, size = 1_000_000 }: Decoding,
): readonly WatchEvent<T>[] {
  const decoder = watchDecoder(resource, { encoding, cache: new TextCache() });
  return [...chunksOf(bytesOf(encoding, answer[encoding]), size)].flatMap((chunk) =>
    decoder.push(chunk)
  );
}

interface JsonObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** What every event has to say, by the server's own JSON. */
function expectedEvents({ json }: BothEncodings): readonly string[] {
  return json.body.trim().split("\n").map((line) => {
    const { type, object } = JSON.parse(line) as { type: string; object: JsonObject };
    const { name, namespace = "", resourceVersion, annotations = {} } = object.metadata;
    if (type !== "BOOKMARK") return `${type} ${namespace}/${name} at ${resourceVersion}`;
    return `BOOKMARK ${annotations["k8s.io/initial-events-end"]} at ${resourceVersion}`;
  });
}

/** A watch does not tell what came from what changed. */
function describeEvent(event: WatchEvent<ApiObject>): string {
  switch (event.kind) {
    case "upsert":
    case "delete": {
      const { namespace, name, resourceVersion } = event.object;
      return `${event.kind} ${namespace}/${name} at ${resourceVersion}`;
    }
    case "bookmark":
      return `bookmark ${event.endsInitialEvents} at ${event.resourceVersion}`;
    case "error":
      return `error ${event.status.code}`;
  }
}

const kinds: Readonly<Record<string, string>> = {
  ADDED: "upsert",
  MODIFIED: "upsert",
  DELETED: "delete",
  BOOKMARK: "bookmark",
};

for (const resource of all) {
  const recorded = recordedResource(resource.name);

  Deno.test(`a recorded list of ${resource.name} is the same in both encodings and any chunks`, () => {
    const { metadata, items } = JSON.parse(recorded.list.json.body) as
      & JsonObject
      & { readonly items: readonly JsonObject[] };
    const expected = decodeList(resource, recorded.list, { encoding: "json" });
    assert.deepEqual(
      expected.objects.map(({ namespace, name, resourceVersion }) => [
        namespace,
        name,
        resourceVersion,
      ]),
      items.map(({ metadata: meta }) => [meta.namespace ?? "", meta.name, meta.resourceVersion]),
    );
    assert.equal(expected.resourceVersion, metadata.resourceVersion);
    for (const size of [1, 7, 100, 1_000_000]) {
      assert.deepEqual(
        decodeList(resource, recorded.list, { encoding: "protobuf", size }),
        expected,
      );
    }
  });

  Deno.test(`a recorded page of ${resource.name} names the next one`, () => {
    const { metadata } = JSON.parse(recorded.page.json.body) as JsonObject;
    for (const encoding of encodings) {
      const page = decodeList(resource, recorded.page, { encoding });
      assert.equal(page.objects.length, 1);
      assert.equal(page.continueToken, metadata.continue);
      assert.ok(page.continueToken.length > 0);
    }
  });

  for (const watch of ["changes", "initial"] as const) {
    Deno.test(`a recorded watch of ${resource.name} (${watch}) says what the server says in JSON`, () => {
      const expected = expectedEvents(recorded[watch])
        .map((event) => event.replace(/^\w+/, (type) => kinds[type]));
      const inJson = decodeWatch(resource, recorded[watch], { encoding: "json" });
      assert.deepEqual(inJson.map(describeEvent), expected);
      for (const size of [1, 5, 1_000_000]) {
        const inProtobuf = decodeWatch(resource, recorded[watch], { encoding: "protobuf", size });
        assert.deepEqual(inProtobuf, inJson);
      }
    });
  }

  Deno.test(`the recorded watches of ${resource.name} hold every type of event`, () => {
    const types = new Set(
      [...expectedEvents(recorded.changes), ...expectedEvents(recorded.initial)]
        .map((event) => event.split(" ")[0]),
    );
    assert.deepEqual([...types].sort(), ["ADDED", "BOOKMARK", "DELETED", "MODIFIED"]);
  });
}

Deno.test("recorded Services are read as what they are", () => {
  const { objects } = decodeList(resources.services, recordedResource("services").list, {
    encoding: "protobuf",
  });
  const [dualStack, externalName, headless, balanced, others] = objects;
  assert.deepEqual(dualStack.clusterIPs, ["172.30.0.10", "fd00:172:30::10"]);
  assert.deepEqual(dualStack.ipFamilies, ["IPv4", "IPv6"]);
  assert.deepEqual(dualStack.externalIPs, ["198.51.100.7", "2001:db8:51::7"]);
  assert.equal(dualStack.internalTrafficPolicy, "Local");
  assert.deepEqual([externalName.type, externalName.clusterIP], ["ExternalName", ""]);
  assert.equal(headless.clusterIP, "None");
  assert.deepEqual(balanced.ports, [
    { name: "http", protocol: "TCP", port: 80, nodePort: 30_080 },
    { name: "dns", protocol: "UDP", port: 53, nodePort: 30_053 },
    { name: "sctp", protocol: "SCTP", port: 65_535, nodePort: 30_655 },
  ]);
  assert.deepEqual(balanced.ingress, [
    { ip: "203.0.113.1", ipMode: "Proxy" },
    { ip: "203.0.113.2", ipMode: "VIP" },
  ]);
  assert.deepEqual(balanced.loadBalancerSourceRanges, ["192.168.0.0/16", "fd00:192:168::/48"]);
  assert.deepEqual([balanced.affinitySeconds, balanced.healthCheckNodePort], [86_400, 31_999]);
  assert.equal(balanced.externalTrafficPolicy, "Local");
  assert.deepEqual(objects.map(({ otherProxy }) => otherProxy), [false, false, false, false, true]);
  assert.ok(others.createdMs > Date.UTC(2026, 0, 1));
});

Deno.test("recorded EndpointSlices are read as what they are", () => {
  const { objects: [full, otherFamily, withoutPorts] } = decodeList(
    resources.endpointSlices,
    recordedResource("endpointslices").list,
    { encoding: "protobuf" },
  );
  assert.deepEqual([full.serviceName, full.addressType], ["cluster-ip", "IPv4"]);
  assert.deepEqual(full.ports, [
    { name: "http", protocol: "TCP", port: 8080 },
    { name: "all", protocol: "SCTP", port: 0 },
  ]);
  const condition = { ready: true, serving: true, terminating: false };
  const nowhere = { nodeName: "", zoneHints: [], nodeHints: [] };
  assert.deepEqual(full.endpoints, [
    {
      address: "10.128.0.1",
      ...condition,
      nodeName: "node-1",
      zoneHints: ["zone-a", "zone-b"],
      nodeHints: [],
    },
    {
      ...nowhere,
      address: "10.128.0.2",
      ready: false,
      serving: true,
      terminating: true,
      zoneHints: ["zone-b"],
      nodeHints: ["node-2"],
    },
    { ...nowhere, address: "10.128.0.3", ...condition },
  ]);
  assert.equal(full.triggerTimeMs, Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  assert.deepEqual(otherFamily.ports, [{ name: "", protocol: "UDP", port: 53 }]);
  assert.equal(otherFamily.addressType, "IPv6");
  assert.deepEqual([withoutPorts.ports, withoutPorts.endpoints], [[], []]);
});

Deno.test("recorded Nodes, Namespaces and ServiceCIDRs are read as what they are", () => {
  const list = <T extends ApiObject>(resource: Resource<T>) =>
    decodeList(resource, recordedResource(resource.name).list, { encoding: "protobuf" }).objects;
  const [node, bare] = list(resources.nodes);
  assert.deepEqual(node.addresses.map(({ type, address }) => `${type} ${address}`), [
    "InternalIP 192.168.1.1",
    "InternalIP fd00:192:168:1::1",
    "Hostname node-1",
  ]);
  assert.deepEqual(node.podCIDRs, ["10.128.1.0/24", "fd00:10:128:1::/64"]);
  assert.ok(node.taintKeys.includes("ToBeDeletedByClusterAutoscaler"));
  assert.deepEqual([node.zone, bare.zone, bare.addresses, bare.podCIDRs], [
    "zone-a",
    "zone-a",
    [],
    [],
  ]);
  const out = list(resources.namespaces).filter(({ optedOut }) => optedOut);
  assert.deepEqual(out.map(({ name }) => name), ["opted-out"]);
  assert.deepEqual(list(resources.serviceCIDRs).map(({ cidrs }) => cidrs), [
    ["172.30.0.0/16", "fd00:172:30::/108"],
    ["172.31.0.0/16"],
  ]);
});

/** What the program makes of each refusal. */
const refusals = [
  ["not found", (error: ApiError) => error.isNotFound],
  ["forbidden", (error: ApiError) => error.isForbidden],
  ["from the future", (error: ApiError) => error.isFromTheFuture && error.isOverloaded],
] as const;

for (const [name, isIt] of refusals) {
  Deno.test(`a recorded refusal (${name}) is understood in both encodings`, () => {
    const answer = recordedRefusals()[name];
    const { code, reason, message, details } = JSON.parse(answer.json.body);
    for (const encoding of encodings) {
      const body = bytesOf(encoding, answer[encoding]);
      const status = decodeStatus({ encoding, cache: new TextCache(), body });
      assert.deepEqual(status, {
        code,
        reason,
        message,
        retryAfterMs: 1_000 * (details.retryAfterSeconds ?? 0),
        cause: details.causes?.[0].reason ?? "",
      });
      assert.equal(answer[encoding].status, code);
      assert.ok(isIt(new ApiError("", status ?? assert.fail())));
    }
  });
}

Deno.test("a recorded watch from a version that is long gone says so in both encodings", () => {
  const { expired } = recordedRefusals();
  const { object } = JSON.parse(expired.json.body.trim());
  for (const encoding of encodings) {
    const events = decodeWatch(resources.services, expired, { encoding });
    assert.equal(events.length, 1);
    const [event] = events;
    assert.ok(event.kind === "error");
    const { code, reason, message } = event.status;
    assert.deepEqual([code, reason, message], [object.code, object.reason, object.message]);
    assert.ok(new ApiError("", event.status).isExpired);
  }
});
