import assert from "node:assert/strict";
import { allowElements, hasSourceRanges } from "../../../../lib/writers/nftables/source_ranges.ts";
import { servicePort } from "./samples.ts";

const vip = "203.0.113.1";

interface Case {
  readonly name: string;
  readonly sourceRanges: readonly string[];
  readonly holdNode?: boolean;
  readonly allowed: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "disjoint ranges",
    sourceRanges: ["10.0.0.0/8", "192.168.0.0/16"],
    allowed: [
      "10.0.0.0/8",
      "192.168.0.0/16",
    ],
  },
  {
    name: "a nested range is left out",
    sourceRanges: ["10.1.0.0/16", "10.0.0.0/8"],
    allowed: [
      "10.0.0.0/8",
    ],
  },
  {
    name: "equal ranges are one",
    sourceRanges: ["10.0.0.0/8", "10.0.0.0/8"],
    allowed: [
      "10.0.0.0/8",
    ],
  },
  {
    name: "a range of one address is the address",
    sourceRanges: ["10.0.0.1/32"],
    allowed: [
      "10.0.0.1",
    ],
  },
  { name: "a range of everything needs no firewall", sourceRanges: ["0.0.0.0/0"], allowed: [] },
  {
    name: "a range that holds the node allows the address itself",
    sourceRanges: [
      "192.168.0.0/16",
    ],
    holdNode: true,
    allowed: ["192.168.0.0/16", vip],
  },
  {
    name: "the address itself may lie in a range",
    sourceRanges: ["203.0.113.0/24"],
    holdNode: true,
    allowed: ["203.0.113.0/24"],
  },
];

for (const { allowed, holdNode = false, name, sourceRanges } of cases) {
  Deno.test(`allowElements(): ${name}`, () => {
    const sample = servicePort({
      name: "web",
      loadBalancerVIPs: [vip],
      sourceRanges,
      sourceRangesHoldNode: holdNode,
    });
    const elements = allowElements(sample);
    assert.deepEqual(elements.map(({ key }) => key), allowed.map((range) => [vip, 80, range]));
    assert.equal(hasSourceRanges(sample), allowed.length > 0);
  });
}

Deno.test("allowElements() speaks IPv6", () => {
  const sample = servicePort({
    name: "web",
    loadBalancerVIPs: ["2001:db8:113::1", "2001:db8:113::2"],
    sourceRanges: ["fd00:192:168::/48", "fd00:1::1/128"],
    sourceRangesHoldNode: true,
  });
  assert.deepEqual(allowElements(sample).map(({ key }) => key), [
    ["2001:db8:113::1", 80, "fd00:192:168::/48"],
    ["2001:db8:113::1", 80, "fd00:1::1"],
    ["2001:db8:113::1", 80, "2001:db8:113::1"],
    ["2001:db8:113::2", 80, "fd00:192:168::/48"],
    ["2001:db8:113::2", 80, "fd00:1::1"],
    ["2001:db8:113::2", 80, "2001:db8:113::2"],
  ]);
});

Deno.test("allowElements() keeps nobody out of other frontends", () => {
  const sample = servicePort({ name: "web", externalIPs: [vip], sourceRanges: ["10.0.0.0/8"] });
  assert.deepEqual(allowElements(sample), []);
});
