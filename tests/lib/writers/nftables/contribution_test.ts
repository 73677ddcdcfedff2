import assert from "node:assert/strict";
import { elementText, ruleText } from "../../../../lib/kernel/nftables/text.ts";
import { contributionOf, elementAt } from "../../../../lib/writers/nftables/contribution.ts";
import { endpoints, servicePort, type ServicePortSample } from "./samples.ts";

const local = endpoints("IPv4", [1, 2]);
const remote = endpoints("IPv4", [9, 2]);
const both = [...local, ...remote];

interface Case {
  readonly name: string;
  readonly sample: Omit<ServicePortSample, "name">;
  readonly leftovers?: boolean;
  readonly elements: readonly string[];
}

const hairpin = "hairpin-connections 10.128.1.2 . 10.128.1.2 . tcp . 8080";
const clusterIP = "172.30.0.1";
const refused = (key: string) => `${key} comment "ns/web:p80" : goto reject-chain`;
const dropped = (key: string) => `${key} comment "ns/web:p80" : drop`;

const cases: readonly Case[] = [
  {
    name: "a cluster IP with endpoints",
    sample: { clusterIP, clusterEndpoints: both },
    elements: [
      "cluster-ips 172.30.0.1",
      "endpoints 172.30.0.1 . tcp . 80 . 0 : 10.128.1.2 . 8080",
      "endpoints 172.30.0.1 . tcp . 80 . 1 : 10.128.9.2 . 8080",
      hairpin,
      "service-ips 172.30.0.1 . tcp . 80 : goto pick-2",
    ],
  },
  {
    name: "an address that an older Service owns",
    sample: { clusterIP: "", clusterEndpoints: remote },
    elements: [],
  },
  {
    name: "external addresses and a node port under Cluster policy",
    sample: {
      externalIPs: ["198.51.100.1"],
      loadBalancerVIPs: ["203.0.113.1"],
      nodePort: 30001,
      clusterEndpoints: remote,
    },
    elements: [
      "cluster-picks 198.51.100.1 . tcp . 80 : goto pick-1",
      "cluster-picks 203.0.113.1 . tcp . 80 : goto pick-1",
      "endpoints 198.51.100.1 . tcp . 80 . 0 : 10.128.9.2 . 8080",
      "endpoints 203.0.113.1 . tcp . 80 . 0 : 10.128.9.2 . 8080",
      "nodeport-cluster-picks tcp . 30001 : goto pick-nodeport-1",
      "nodeport-endpoints tcp . 30001 . 0 : 10.128.9.2 . 8080",
      "service-ips 198.51.100.1 . tcp . 80 : goto external-cluster",
      "service-ips 203.0.113.1 . tcp . 80 : goto external-cluster",
      "service-nodeports tcp . 30001 : goto nodeport-cluster",
    ],
  },
  {
    name: "external policy Local with endpoints here: both lists",
    sample: {
      loadBalancerVIPs: ["203.0.113.1"],
      nodePort: 30001,
      externalPolicyLocal: true,
      clusterEndpoints: both,
      localEndpoints: local,
    },
    elements: [
      "cluster-picks 203.0.113.1 . tcp . 80 : goto pick-2",
      "endpoints 203.0.113.1 . tcp . 80 . 0 : 10.128.1.2 . 8080",
      "endpoints 203.0.113.1 . tcp . 80 . 1 : 10.128.9.2 . 8080",
      hairpin,
      "local-endpoints 203.0.113.1 . tcp . 80 . 0 : 10.128.1.2 . 8080",
      "local-picks 203.0.113.1 . tcp . 80 : goto pick-local-1",
      "nodeport-cluster-picks tcp . 30001 : goto pick-nodeport-2",
      "nodeport-endpoints tcp . 30001 . 0 : 10.128.1.2 . 8080",
      "nodeport-endpoints tcp . 30001 . 1 : 10.128.9.2 . 8080",
      "nodeport-local-endpoints tcp . 30001 . 0 : 10.128.1.2 . 8080",
      "nodeport-local-picks tcp . 30001 : goto pick-nodeport-local-1",
      "service-ips 203.0.113.1 . tcp . 80 : goto external-local",
      "service-nodeports tcp . 30001 : goto nodeport-local",
    ],
  },
  {
    name: "external policy Local without endpoints here: pods pass, others are dropped",
    sample: {
      loadBalancerVIPs: ["203.0.113.1"],
      nodePort: 30001,
      externalPolicyLocal: true,
      clusterEndpoints: remote,
    },
    elements: [
      "cluster-picks 203.0.113.1 . tcp . 80 : goto pick-1",
      "endpoints 203.0.113.1 . tcp . 80 . 0 : 10.128.9.2 . 8080",
      dropped("no-endpoint-nodeports tcp . 30001"),
      dropped("no-endpoint-services 203.0.113.1 . tcp . 80"),
      "nodeport-cluster-picks tcp . 30001 : goto pick-nodeport-1",
      "nodeport-endpoints tcp . 30001 . 0 : 10.128.9.2 . 8080",
      "service-ips 203.0.113.1 . tcp . 80 : goto external-local",
      "service-nodeports tcp . 30001 : goto nodeport-local",
    ],
  },
  {
    name: "internal policy Local: the local list in the map of cluster IPs",
    sample: {
      clusterIP,
      internalPolicyLocal: true,
      clusterEndpoints: both,
      localEndpoints: local,
    },
    elements: [
      "cluster-ips 172.30.0.1",
      "endpoints 172.30.0.1 . tcp . 80 . 0 : 10.128.1.2 . 8080",
      hairpin,
      "service-ips 172.30.0.1 . tcp . 80 : goto pick-1",
    ],
  },
  {
    name: "internal policy Local without endpoints here: dropped",
    sample: { clusterIP, internalPolicyLocal: true, clusterEndpoints: remote },
    elements: ["cluster-ips 172.30.0.1", dropped("no-endpoint-services 172.30.0.1 . tcp . 80")],
  },
  {
    name: "no endpoints: refused everywhere, and no dispatch",
    sample: { clusterIP, loadBalancerVIPs: ["203.0.113.1"], nodePort: 30001 },
    elements: [
      "cluster-ips 172.30.0.1",
      refused("no-endpoint-nodeports tcp . 30001"),
      refused("no-endpoint-services 172.30.0.1 . tcp . 80"),
      refused("no-endpoint-services 203.0.113.1 . tcp . 80"),
    ],
  },
  {
    name: "no endpoints beside leftovers: external destinations are kept",
    sample: { clusterIP, loadBalancerVIPs: ["203.0.113.1"], nodePort: 30001 },
    leftovers: true,
    elements: [
      "cluster-ips 172.30.0.1",
      refused("no-endpoint-nodeports tcp . 30001"),
      refused("no-endpoint-services 172.30.0.1 . tcp . 80"),
      refused("no-endpoint-services 203.0.113.1 . tcp . 80"),
      "service-ips 203.0.113.1 . tcp . 80 : goto keep-destination",
      "service-nodeports tcp . 30001 : goto keep-destination",
    ],
  },
  {
    name: "source ranges hold without endpoints too, and only for load balancer addresses",
    sample: {
      externalIPs: ["198.51.100.1"],
      loadBalancerVIPs: ["203.0.113.1"],
      sourceRanges: ["192.168.0.0/16"],
    },
    elements: [
      "firewall-allow-tcp 203.0.113.1 . 80 . 192.168.0.0/16",
      "firewall-ips 203.0.113.1 . tcp . 80 : goto firewall-tcp",
      refused("no-endpoint-services 198.51.100.1 . tcp . 80"),
      refused("no-endpoint-services 203.0.113.1 . tcp . 80"),
    ],
  },
  {
    name: "an external IP that is the load balancer's address and the cluster IP too",
    sample: {
      clusterIP,
      externalIPs: [clusterIP, "203.0.113.1"],
      loadBalancerVIPs: ["203.0.113.1"],
      clusterEndpoints: remote,
    },
    elements: [
      "cluster-ips 172.30.0.1",
      "cluster-picks 203.0.113.1 . tcp . 80 : goto pick-1",
      "endpoints 172.30.0.1 . tcp . 80 . 0 : 10.128.9.2 . 8080",
      "endpoints 203.0.113.1 . tcp . 80 . 0 : 10.128.9.2 . 8080",
      "service-ips 172.30.0.1 . tcp . 80 : goto pick-1",
      "service-ips 203.0.113.1 . tcp . 80 : goto external-cluster",
    ],
  },
];

for (const { elements, leftovers = false, name, sample } of cases) {
  Deno.test(`contributionOf(): ${name}`, () => {
    const contribution = contributionOf(servicePort({ name: "web", ...sample }), leftovers);
    const found = [...contribution.elements].flatMap(([set, list]) =>
      list.map((element) => `${set} ${elementText(element)}`)
    );
    for (const list of contribution.lists) {
      const all = list.endpoints.map((_, place) => elementAt(list, place));
      found.push(...all.map((element) => `${list.set} ${elementText(element)}`));
    }
    assert.deepEqual(found.sort(), elements.toSorted());
    assert.deepEqual([contribution.chains.size, contribution.sets.size], [0, 0]);
  });
}

Deno.test("contributionOf() names the shared chains that it leads to", () => {
  const { picks } = contributionOf(
    servicePort({
      name: "web",
      clusterIP,
      nodePort: 30001,
      externalPolicyLocal: true,
      clusterEndpoints: both,
      localEndpoints: local,
    }),
    false,
  );
  assert.deepEqual([...picks.keys()].sort(), [
    "pick-2",
    "pick-nodeport-2",
    "pick-nodeport-local-1",
  ]);
});

Deno.test("contributionOf() makes chains for session affinity, and then no lists", () => {
  const { chains, elements, lists, picks, sets } = contributionOf(
    servicePort({
      name: "svc1",
      namespace: "ns1",
      clusterIP,
      affinitySeconds: 60,
      loadBalancerVIPs: ["203.0.113.1"],
      externalPolicyLocal: true,
      clusterEndpoints: both,
      localEndpoints: local,
    }),
    false,
  );
  const path = "ULMVA6XW-ns1/svc1/tcp/p80";
  const one = "6E2C2UE5-ns1/svc1/tcp/p80__10.128.1.2/8080";
  const two = "KQR5BO3C-ns1/svc1/tcp/p80__10.128.9.2/8080";
  assert.deepEqual([...sets], ["affinity-24", "affinity-22"]);
  assert.deepEqual([picks.size, lists], [0, []]);
  assert.deepEqual(elements.get("service-ips")?.map(elementText), [
    `172.30.0.1 . tcp . 80 : goto service-${path}`,
    "203.0.113.1 . tcp . 80 : goto external-local",
  ]);
  assert.deepEqual(elements.get("local-picks")?.map(elementText), [
    `203.0.113.1 . tcp . 80 : goto local-${path}`,
  ]);
  const rules = new Map(
    [...chains].map(([name, list]) => [name, list.map((rule) => ruleText(rule, "ip"))]),
  );
  assert.deepEqual(rules.get(`service-${path}`), [
    `ip saddr . numgen random mod 1 offset 321663448 @affinity-24 goto endpoint-${one}`,
    `ip saddr . numgen random mod 1 offset 3663373910 @affinity-22 goto endpoint-${two}`,
    `numgen random mod 2 vmap { 0 : goto endpoint-${one}, 1 : goto endpoint-${two} }`,
  ]);
  assert.deepEqual(rules.get(`local-${path}`), [
    `goto endpoint-${one}`,
  ]);
  assert.deepEqual(rules.get(`endpoint-${two}`), [
    "update @affinity-22 { ip saddr . numgen random mod 1 offset 3663373910 timeout 60s }",
    "meta l4proto tcp dnat to 10.128.9.2:8080",
  ]);
});
