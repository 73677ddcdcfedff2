import assert from "node:assert/strict";
import { decodeElements } from "../../../../lib/kernel/nftables/decode_elements.ts";
import { elementText } from "../../../../lib/kernel/nftables/text.ts";
import { groupServicePorts, wantedTable } from "../../../../lib/writers/nftables/desired.ts";
import type { SetName } from "../../../../lib/writers/nftables/sets.ts";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { definitionOf } from "../../../../lib/writers/nftables/shards.ts";
import { addresses, endpoints, servicePort, settings } from "./samples.ts";

const web = servicePort({
  name: "web",
  clusterIP: "172.30.0.1",
  clusterEndpoints: endpoints("IPv4", [9, 1], [9, 2]),
});
const admin = servicePort({
  name: "web",
  portName: "admin",
  port: 81,
  clusterIP: "172.30.0.1",
  clusterEndpoints: endpoints("IPv4", [9, 1]),
});

function wanted() {
  const services = new Map([web, admin].map((each) => [each.key, each]));
  return wantedTable({
    context: { family: "IPv4", mark: 1 << 14, settings: settings.IPv4 },
    groups: groupServicePorts(services, settings.IPv4),
  });
}

function elementsOf(set: SetName): readonly string[] {
  const list = wanted().sets.get(set)?.take();
  return decodeElements(list?.bytes() ?? new Uint8Array(), definitionOf(set), "ip").map(
    elementText,
  );
}

Deno.test("wantedTable() has the elements of lists behind the others", () => {
  assert.deepEqual(elementsOf("endpoints").toSorted(), [
    "172.30.0.1 . tcp . 80 . 0 : 10.128.9.1 . 8080",
    "172.30.0.1 . tcp . 80 . 1 : 10.128.9.2 . 8080",
    "172.30.0.1 . tcp . 81 . 0 : 10.128.9.1 . 8080",
  ]);
  assert.equal(wanted().sets.get("endpoints")?.take().length, 3);
});

Deno.test("wantedTable() has once what several service ports share", () => {
  assert.deepEqual(elementsOf("cluster-ips"), ["172.30.0.1"]);
});

Deno.test("wantedTable() names no set that shall be empty", () => {
  assert.equal(wanted().sets.has("firewall-ips"), false);
});

Deno.test("groupServicePorts() makes larger groups beside leftovers, where each commit takes the kernel long", () => {
  const three = endpoints("IPv4", [9, 1], [9, 2], [9, 3]);
  const services = new Map(
    Array.from({ length: 5_500 }, (_, index) => {
      const clusterIP = `172.30.${index >> 8}.${index & 255}`;
      const each = servicePort({ name: `s${index}`, clusterIP, clusterEndpoints: three });
      return [each.key, each] as const;
    }),
  );
  const sizes = (leftovers: boolean) =>
    groupServicePorts(services, { leftovers }).map(({ length }) => length);
  assert.deepEqual(sizes(false), [1_000, 1_000, 1_000, 1_000, 1_000, 500]);
  assert.deepEqual(sizes(true), [3_000, 2_500]);
});

Deno.test("groupServicePorts() counts each frontend's endpoints against what a batch takes", () => {
  // A frontend has one element more than endpoints, and two frontends are counted at least.
  const sample = (name: string, count: number, more: Partial<ServicePort> = {}) =>
    servicePort({
      name,
      clusterEndpoints: new Array(count).fill(endpoints("IPv4", [9, 1])[0]),
      ...more,
    });
  const sizes = (...all: readonly ServicePort[]) =>
    groupServicePorts(new Map(all.map((each) => [each.key, each])), { leftovers: false })
      .map(({ length }) => length);
  assert.deepEqual(sizes(sample("a", 4_999), sample("b", 4_999), sample("c", 0)), [2, 1]);
  assert.deepEqual(sizes(sample("a", 4_999), sample("b", 5_000)), [1, 1]);
  const loadBalancerVIPs = [addresses.IPv4.loadBalancer(1)];
  assert.deepEqual(sizes(sample("a", 3_332, { loadBalancerVIPs }), sample("b", 4_999)), [2]);
  assert.deepEqual(sizes(sample("a", 3_333, { loadBalancerVIPs }), sample("b", 4_999)), [1, 1]);
  const externalIPs = [addresses.IPv4.external(1)];
  assert.deepEqual(sizes(sample("a", 3_333, { externalIPs }), sample("b", 4_999)), [1, 1]);
  assert.deepEqual(sizes(sample("a", 3_332, { externalIPs }), sample("b", 4_999)), [2]);
});
