/** Rules that are there whatever Services there are, as text, by what the node is configured to do. */
import assert from "node:assert/strict";
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { ruleText } from "../../../../lib/kernel/xtables/text.ts";
import type { RuleContext } from "../../../../lib/writers/iptables/rules/context.ts";
import {
  nodePortDispatch,
  staticChains,
} from "../../../../lib/writers/iptables/rules/static_chains.ts";
import { contextOf, settings } from "./samples.ts";

const about = '-m comment --comment "kubernetes service nodeports; ' +
  'NOTE: this must be the last rule in this chain"';
const toNodePorts = "-j KUBE-NODEPORTS";

/** `loopback` are the addresses of 127.0.0.0/8 that are listed too. */
function listed(family: IpFamily, addresses: readonly string[], loopback?: readonly string[]) {
  const nodePortAddresses = {
    kind: "listed",
    addresses,
    ...(loopback && { loopback }),
  } as const;
  return { settings: { ...settings[family], nodePortAddresses } };
}

function all(family: IpFamily): Partial<RuleContext> {
  return { settings: { ...settings[family], nodePortAddresses: { kind: "all" } } };
}

const dispatches: readonly (readonly [
  name: string,
  family: IpFamily,
  context: Partial<RuleContext>,
  rules: readonly string[],
])[] = [
  [
    "all addresses but loopback",
    "IPv4",
    all("IPv4"),
    [`! -d 127.0.0.0/8 ${about} -m addrtype --dst-type LOCAL ${toNodePorts}`],
  ],
  [
    "all addresses",
    "IPv4",
    { ...all("IPv4"), localhostNodePorts: true },
    [`${about} -m addrtype --dst-type LOCAL ${toNodePorts}`],
  ],
  [
    "never loopback in IPv6",
    "IPv6",
    { ...all("IPv6"), localhostNodePorts: true },
    [`! -d ::1/128 ${about} -m addrtype --dst-type LOCAL ${toNodePorts}`],
  ],
  [
    "listed addresses",
    "IPv4",
    listed("IPv4", ["192.168.0.2", "192.168.0.3"], ["127.0.0.1"]),
    [`-d 192.168.0.2/32 ${about} ${toNodePorts}`, `-d 192.168.0.3/32 ${about} ${toNodePorts}`],
  ],
  [
    "listed addresses with loopback",
    "IPv4",
    { ...listed("IPv4", ["192.168.0.2"], ["127.0.0.1"]), localhostNodePorts: true },
    [`-d 192.168.0.2/32 ${about} ${toNodePorts}`, `-d 127.0.0.1/32 ${about} ${toNodePorts}`],
  ],
  [
    "listed addresses, none of loopback",
    "IPv4",
    { ...listed("IPv4", ["192.168.0.2"]), localhostNodePorts: true },
    [`-d 192.168.0.2/32 ${about} ${toNodePorts}`],
  ],
  [
    "listed addresses of IPv6",
    "IPv6",
    { ...listed("IPv6", ["fd00:192:168::2"], ["::1"]), localhostNodePorts: true },
    [`-d fd00:192:168::2/128 ${about} ${toNodePorts}`],
  ],
];

for (const [name, family, context, rules] of dispatches) {
  Deno.test(`nodePortDispatch(): ${name}, ${family}`, () => {
    const found = nodePortDispatch(contextOf(family, context));
    assert.deepEqual(found.map((rule) => ruleText(rule, family)), rules);
  });
}

/** The rules of a filter chain. */
function filterRules(chain: string, family: IpFamily, context: Partial<RuleContext>) {
  const found = staticChains(contextOf(family, context))
    .find((each) => each.table === "filter" && each.chain === chain);
  return found?.rules.map((rule) => ruleText(rule, family));
}

Deno.test("staticChains() guards 127.0.0.1 where node ports answer there, and in IPv4 alone", () => {
  const on = { localhostNodePorts: true };
  const guard = filterRules("KUBE-FIREWALL", "IPv4", on) ?? [];
  assert.equal(guard.length, 1);
  assert.match(
    guard[0],
    /^! -s 127\.0\.0\.0\/8 -d 127\.0\.0\.0\/8 .*block incoming localnet.*DROP$/,
  );
  assert.equal(filterRules("KUBE-FIREWALL", "IPv6", on), undefined);
  assert.equal(filterRules("KUBE-FIREWALL", "IPv4", {}), undefined);
});

Deno.test("staticChains() drops packets of no connection, and counts them where it can", () => {
  const first = (context: Partial<RuleContext>) =>
    filterRules("KUBE-FORWARD", "IPv4", context)?.[0];
  const counters = { invalid: false, localhost: false };
  const drop = "-m conntrack --ctstate INVALID";
  assert.equal(
    first({}),
    `${drop} -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP`,
  );
  assert.equal(first({ counters }), `${drop} -j DROP`);
  assert.doesNotMatch(first({ dropsInvalid: false }) ?? "", /INVALID/);
});
