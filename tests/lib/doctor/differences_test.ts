import assert from "node:assert/strict";
import { checks } from "../../../lib/doctor/checks.ts";
import { differences } from "../../../lib/doctor/differences.ts";
import { explain } from "../../../lib/doctor/report/explain.ts";
import { allCases } from "./cases.ts";
import type { Difference } from "../../../lib/doctor/differences.ts";

/** Every difference that is known, and the checks that have to look for it. */
const known: Readonly<Record<string, readonly string[]>> = {
  "NodePort addresses": ["NP01"],
  "NodePort on localhost": ["NP02"],
  "NodePort and firewall": ["NP03", "NP06"],
  "health check node ports": ["NP04"],
  "INVALID packets": ["CT04"],
  "cluster IP is a local address": ["IPV06", "IPV07"],
  "ping to a cluster IP": ["IPV09"],
  "scheduler": ["IPV03"],
  "connections at the switch": ["IPV02"],
  "ip_forward": ["NET01"],
  "ARP": ["NET02", "IPV10"],
  "route_localnet": ["NET03"],
  "chains and marks": ["CO01", "CO02"],
  "hook order": ["CO03"],
  "cleanup": ["IPV01", "CO16"],
  "metrics": ["CO14"],
  "Local from a pod": ["CFG08"],
};

/** Those that no check looks for: the rehearsal tells them on every node that they are new to. */
const told: Readonly<Record<string, RegExp>> = {
  "a port of a cluster IP that no Service has":
    /Ports of a cluster IP that no Service has are refused/,
  "an address inside a ServiceCIDR that no Service has":
    /addresses inside a ServiceCIDR that no Service has are dropped/,
  "settings below net.ipv4.vs": /net\.ipv4\.vs have no effect/,
};

/** What a list of differences lacks. */
function lacks(list: readonly Difference[]): readonly string[] {
  const covered = new Set(list.flatMap((each) => each.checks));
  return [
    ...Object.entries(known).filter(([, ids]) => !ids.every((id) => covered.has(id)))
      .map(([topic]) => topic),
    ...Object.keys(told).filter((topic) => !list.some((each) => each.topic === topic)),
  ];
}

Deno.test("each difference between the modes has a line", () => {
  assert.deepEqual(lacks(differences), []);
  assert.equal(new Set(differences.map(({ topic }) => topic)).size, differences.length);
});

Deno.test("a line that is missing would be found", () => {
  for (const missing of differences) {
    // Of lines with the same checks the other one is found missing by its topic.
    const rest = differences.filter((each) => each !== missing);
    assert.notDeepEqual(lacks(rest), [], missing.topic);
  }
});

Deno.test("each difference is looked for by checks that there are", () => {
  const ids = new Set(checks.map(({ id }) => id));
  const named = differences.flatMap((each) => each.checks);
  assert.deepEqual(named.filter((id) => !ids.has(id)), []);
});

Deno.test("what no check looks for is told by the rehearsal", () => {
  const cases = allCases.find(({ id }) => id === "DRY01")?.cases ?? [];
  const says = cases.flatMap((each) => each.says ?? []).map(String).join("\n");
  for (const [topic, words] of Object.entries(told)) {
    assert.deepEqual(differences.find((each) => each.topic === topic)?.checks, ["DRY01"]);
    assert.match(says, words, `no case of DRY01 shows it: ${topic}`);
  }
});

Deno.test("a check explains what changes", () => {
  const rehearse = checks.find(({ id }) => id === "DRY01");
  assert.ok(rehearse);
  const lines = "\nWhat changes: settings below net.ipv4.vs\n  iptables:  no effect\n" +
    "  ipvs:      set by the proxy\n  nftables:  no effect\n";
  assert.ok(explain(rehearse).includes(lines), explain(rehearse));
});
