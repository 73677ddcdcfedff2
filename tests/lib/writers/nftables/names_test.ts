import assert from "node:assert/strict";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import {
  affinityChainName,
  baseChainPurposes,
  chainPurposes,
  endpointNames,
  servicePortComment,
} from "../../../../lib/writers/nftables/names.ts";
import { sets } from "../../../../lib/writers/nftables/sets.ts";
import { servicePort } from "./samples.ts";

Deno.test("tableOf() names the table that other software looks for", () => {
  assert.deepEqual(tableOf("IPv4"), { family: "ip", name: "kube-proxy" });
  assert.deepEqual(tableOf("IPv6"), { family: "ip6", name: "kube-proxy" });
});

Deno.test("affinityChainName() hashes as upstream does", () => {
  const sample = servicePort({ name: "svc1", namespace: "ns1", portName: "p80" });
  assert.equal(affinityChainName(sample, "cluster"), "service-ULMVA6XW-ns1/svc1/tcp/p80");
  assert.equal(affinityChainName(sample, "local"), "local-ULMVA6XW-ns1/svc1/tcp/p80");
});

Deno.test("affinityChainName() ends in a slash for a port without a name", () => {
  const sample = servicePort({ name: "svc1", namespace: "ns1", portName: "" });
  assert.match(affinityChainName(sample, "cluster"), /^service-[A-Z2-7]{8}-ns1\/svc1\/tcp\/$/);
});

Deno.test("endpointNames() hashes as upstream does", () => {
  const sample = servicePort({ name: "svc5", namespace: "ns5", portName: "p80" });
  assert.deepEqual(endpointNames(sample, { ip: "10.180.0.3", port: 80, isLocal: false }), {
    chain: "endpoint-GTK6MW7G-ns5/svc5/tcp/p80__10.180.0.3/80",
    number: 963_527_081,
  });
});

Deno.test("endpointNames() writes the colons of IPv6 as dots", () => {
  const sample = servicePort({ name: "svc5", namespace: "ns5", portName: "p80" });
  const { chain } = endpointNames(sample, { ip: "fd00:10:180::3", port: 80, isLocal: false });
  assert.match(chain, /^endpoint-[A-Z2-7]{8}-ns5\/svc5\/tcp\/p80__fd00\.10\.180\.\.3\/80$/);
});

Deno.test("endpointNames() cuts the longest names, and keeps them apart by their hash", () => {
  const long = { namespace: "n".repeat(63), portName: "p".repeat(63) };
  const sample = servicePort({ name: "s".repeat(63), ...long });
  const [one, other] = [1, 2].map((last) =>
    endpointNames(sample, {
      ip: `fd00:1111:2222:3333:4444:5555:6666:777${last}`,
      port: 65535,
      isLocal: false,
    }).chain
  );
  assert.equal(one.length, "endpoint-".length + 240);
  assert.match(one, /\.\.\.$/);
  assert.notEqual(one, other);
});

Deno.test("endpointNames() cuts no name that just fits", () => {
  const nameOf = (letters: number) => {
    const long = { name: "s".repeat(63), namespace: "n".repeat(63), portName: "p".repeat(letters) };
    const ip = "fd00:1111:2222:3333:4444:5555:6666:7777";
    const { chain } = endpointNames(servicePort(long), { ip, port: 65_535, isLocal: false });
    return chain.slice("endpoint-".length);
  };
  assert.equal(nameOf(52).length, 240);
  assert.match(nameOf(52), /\/65535$/);
  assert.equal(nameOf(53).length, 240);
  assert.match(nameOf(53), /\.\.\.$/);
});

Deno.test("servicePortComment() names the service port within 128 bytes", () => {
  assert.equal(servicePortComment(servicePort({ name: "web", portName: "http" })), "ns/web:http");
  assert.equal(servicePortComment(servicePort({ name: "web", portName: "" })), "ns/web");
  const long = servicePort({ name: "s".repeat(63), namespace: "n".repeat(63), portName: "http" });
  assert.equal(servicePortComment(long).length, 128);
});

Deno.test("every purpose fits into a comment of the kernel", () => {
  const comments = [
    ...Object.values(baseChainPurposes),
    ...Object.values(chainPurposes),
    ...Object.values(sets).map(({ comment }) => comment ?? ""),
  ];
  for (const comment of comments) assert.ok(comment.length > 0 && comment.length <= 128, comment);
});
