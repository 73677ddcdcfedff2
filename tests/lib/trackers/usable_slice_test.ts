import assert from "node:assert/strict";
import { usableSlice } from "../../../lib/trackers/usable_slice.ts";
import { endpoint, slice } from "./objects.ts";

const twoPorts = [
  { name: "http", protocol: "TCP", port: 8080 },
  { name: "https", protocol: "TCP", port: 8443 },
] as const;

/** The last address first; all are equally long. */
const backwards = (count: number) =>
  Array.from({ length: count }, (_, at) => {
    const number = count - at;
    return endpoint(`10.128.${100 + Math.floor(number / 100)}.${100 + number % 100}`);
  });

function used(changes: Parameters<typeof slice>[0]) {
  const given = slice(changes);
  const notices: string[] = [];
  const result = usableSlice(given, {
    family: "IPv4",
    notice: ({ message }) => notices.push(message),
  });
  return { given, notices, result, addresses: result.endpoints.map(({ address }) => address) };
}

Deno.test("usableSlice() gives the slice itself where all of it can be used", () => {
  const { given, notices, result } = used({ endpoints: backwards(500), ports: twoPorts });
  assert.equal(result, given);
  assert.deepEqual(notices, []);
});

Deno.test("usableSlice() sorts endpoints once that each of several ports would sort", () => {
  const endpoints = backwards(501);
  const [one, other] = ["a", "b"].map((nodeName) => endpoint("10.128.100.107", { nodeName }));
  const { addresses, result } = used({ endpoints: [one, ...endpoints, other], ports: twoPorts });
  assert.deepEqual(addresses, [...addresses].sort());
  assert.deepEqual([addresses[0], addresses.at(-1)], ["10.128.100.101", "10.128.105.101"]);
  const equal = result.endpoints.filter(({ address }) => address === one.address);
  assert.deepEqual(equal.map(({ nodeName }) => nodeName), ["a", "", "b"], "as they came");
});

Deno.test("usableSlice() leaves out what cannot be used, and says so", () => {
  const { addresses, notices, result } = used({
    endpoints: [
      endpoint("10.128.0.9"),
      endpoint("fd00:10:128::1"),
      endpoint(""),
      endpoint("010.128.0.8"),
    ],
    ports: [...twoPorts, { name: null, protocol: "TCP", port: 1 }, {
      name: "none",
      protocol: "TCP",
      port: 0,
    }],
  });
  assert.deepEqual(addresses, ["10.128.0.9", "10.128.0.8"]);
  assert.deepEqual(result.ports, twoPorts);
  const what = "EndpointSlice shop/web-1: ";
  assert.deepEqual(notices, [
    `${what}its port "" has no name or no number in 1-65535, so it is ignored`,
    `${what}its port "none" has no name or no number in 1-65535, so it is ignored`,
    `${what}its endpoint "fd00:10:128::1" is no IPv4 address, so it is ignored`,
    `${what}an endpoint has no address, so it is ignored`,
  ]);
});
