import assert from "node:assert/strict";
import { joinHostPort } from "../../../lib/base/ip.ts";
import type { EndpointSlice, SliceEndpoint } from "../../../lib/kube/objects.ts";
import { collectCandidates, countLocalReady } from "../../../lib/trackers/collect_candidates.ts";
import { endpoint, slice } from "./objects.ts";

const query = { portName: "http", protocol: "TCP", nodeName: "node-a" } as const;
const ready = { ready: true, serving: true, terminating: false };
const unready = { ready: false, serving: false, terminating: false };
const fading = { ready: false, serving: true, terminating: true };
const dying = { ready: false, serving: false, terminating: true };

/** `10.128.0.1:8080 here ready`, in order. */
function collect(slices: readonly EndpointSlice[], portName = "http"): readonly string[] {
  return collectCandidates(slices, { ...query, portName }).map(({ endpoint, state }) => {
    const condition = state.ready
      ? "ready"
      : state.terminating
      ? (state.serving ? "fading" : "dying")
      : "unready";
    const place = endpoint.isLocal ? " here" : "";
    return `${joinHostPort(endpoint.ip, endpoint.port)}${place} ${condition}`;
  });
}

function range(count: number, conditions: (n: number) => Partial<SliceEndpoint> = () => ({})) {
  return Array.from({ length: count }, (_, i) => endpoint(`10.128.1.${i + 1}`, conditions(i + 1)));
}

const rows: readonly {
  readonly name: string;
  readonly slices: readonly EndpointSlice[];
  readonly expected: readonly string[];
}[] = [
  { name: "no slices", slices: [], expected: [] },
  {
    name: "endpoints on this node and another, bytewise order",
    slices: [
      slice({
        endpoints: [
          endpoint("10.128.1.2", { nodeName: "node-a" }),
          endpoint("10.128.1.10", { nodeName: "node-b" }),
          endpoint("10.128.1.1"),
        ],
      }),
    ],
    expected: ["10.128.1.10:8080 ready", "10.128.1.1:8080 ready", "10.128.1.2:8080 here ready"],
  },
  {
    name: "another port of the same slice is another list",
    slices: [
      slice({
        ports: [
          { name: "http", protocol: "TCP", port: 8080 },
          { name: "https", protocol: "TCP", port: 8443 },
          { name: "http", protocol: "UDP", port: 8080 },
        ],
        endpoints: range(1),
      }),
    ],
    expected: ["10.128.1.1:8080 ready"],
  },
  {
    name: "two slices are joined",
    slices: [
      slice({ name: "a", endpoints: [endpoint("10.128.2.1")] }),
      slice({ name: "b", endpoints: range(2) }),
    ],
    expected: ["10.128.1.1:8080 ready", "10.128.1.2:8080 ready", "10.128.2.1:8080 ready"],
  },
  {
    name: "overlapping slices give each endpoint once",
    slices: [slice({ name: "a", endpoints: range(2) }), slice({ name: "b", endpoints: range(3) })],
    expected: ["10.128.1.1:8080 ready", "10.128.1.2:8080 ready", "10.128.1.3:8080 ready"],
  },
  {
    name: "an endpoint that moves and is ready in the later slice",
    slices: [
      slice({ name: "a", endpoints: range(1, () => unready) }),
      slice({ name: "b", endpoints: range(1, () => ready) }),
    ],
    expected: ["10.128.1.1:8080 ready"],
  },
  {
    name: "of two that do not terminate the later counts",
    slices: [
      slice({ name: "a", endpoints: range(1, () => ready) }),
      slice({ name: "b", endpoints: range(1, () => unready) }),
    ],
    expected: ["10.128.1.1:8080 unready"],
  },
  {
    name: "one that runs takes the place of one that terminates",
    slices: [
      slice({ name: "a", endpoints: range(1, () => fading) }),
      slice({ name: "b", endpoints: range(1, () => ready) }),
    ],
    expected: ["10.128.1.1:8080 ready"],
  },
  {
    name: "one that terminates does not take the place of one that runs",
    slices: [
      slice({ name: "a", endpoints: range(1, () => ready) }),
      slice({ name: "b", endpoints: range(1, () => fading) }),
    ],
    expected: ["10.128.1.1:8080 ready"],
  },
  {
    name: "among three within one slice the one that runs counts",
    slices: [
      slice({
        endpoints: [fading, ready, dying].map((state) => endpoint("10.128.1.1", state)),
      }),
    ],
    expected: ["10.128.1.1:8080 ready"],
  },
  {
    name: "of two that terminate the first counts",
    slices: [
      slice({ endpoints: [fading, dying].map((state) => endpoint("10.128.1.1", state)) }),
    ],
    expected: ["10.128.1.1:8080 fading"],
  },
  {
    name: "the same address on two port numbers is two endpoints",
    slices: [
      slice({ name: "a", endpoints: range(1) }),
      slice({
        name: "b",
        endpoints: range(1),
        ports: [{ name: "http", protocol: "TCP", port: 9090 }],
      }),
    ],
    expected: ["10.128.1.1:8080 ready", "10.128.1.1:9090 ready"],
  },
  {
    name: "one name with two numbers in one slice",
    slices: [
      slice({
        endpoints: range(1),
        ports: [
          { name: "http", protocol: "TCP", port: 9090 },
          { name: "http", protocol: "TCP", port: 8080 },
        ],
      }),
    ],
    expected: ["10.128.1.1:8080 ready", "10.128.1.1:9090 ready"],
  },
  {
    name: "some unready in one slice and some in the other",
    slices: [
      slice({ name: "a", endpoints: range(4, (n) => n % 2 === 0 ? unready : ready) }),
      slice({ name: "b", endpoints: range(4, (n) => n === 4 ? unready : ready) }),
    ],
    expected: [
      "10.128.1.1:8080 ready",
      "10.128.1.2:8080 ready",
      "10.128.1.3:8080 ready",
      "10.128.1.4:8080 unready",
    ],
  },
];

for (const { name, slices, expected } of rows) {
  Deno.test(`collectCandidates(): ${name}`, () => assert.deepEqual(collect(slices), expected));
}

Deno.test("collectCandidates() takes the empty port name for a name", () => {
  const unnamed = slice({ ports: [{ name: "", protocol: "TCP", port: 80 }], endpoints: range(1) });
  assert.deepEqual(collect([unnamed], ""), ["10.128.1.1:80 ready"]);
  assert.deepEqual(collect([unnamed]), []);
});

Deno.test("collectCandidates() finds nothing local without a node name", () => {
  const [found] = collectCandidates([slice({ endpoints: range(1) })], { ...query, nodeName: "" });
  assert.equal(found.endpoint.isLocal, false);
});

const here = { nodeName: "node-a" };
const counts: readonly (readonly [string, readonly EndpointSlice[], number])[] = [
  ["nothing", [], 0],
  ["all remote", [slice({ endpoints: range(2) })], 0],
  ["one here", [slice({ endpoints: range(2, (n) => n === 1 ? here : {}) })], 1],
  [
    "one address on two ports counts once",
    [
      slice({
        endpoints: range(1, () => here),
        ports: [
          { name: "a", protocol: "TCP", port: 1 },
          { name: "b", protocol: "UDP", port: 2 },
        ],
      }),
    ],
    1,
  ],
  [
    "ports of several slices",
    [
      slice({ name: "a", endpoints: range(2, () => here) }),
      slice({
        name: "b",
        endpoints: [endpoint("10.128.2.1", here)],
        ports: [{ name: "other", protocol: "TCP", port: 9 }],
      }),
    ],
    3,
  ],
  ["unready here", [slice({ endpoints: range(1, () => ({ ...here, ...unready })) })], 0],
  ["terminating here", [slice({ endpoints: range(1, () => ({ ...here, ...fading })) })], 0],
];

for (const [name, slices, expected] of counts) {
  Deno.test(`countLocalReady(): ${name}`, () => {
    assert.equal(countLocalReady(slices, "node-a"), expected);
  });
}
