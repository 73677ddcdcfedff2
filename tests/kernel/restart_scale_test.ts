/**
 * A restart over large tables: the kernel is read and compared in seconds, nothing is written, and a
 * single element that went meanwhile is found among all.
 */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import type { Nftables } from "../../lib/kernel/nftables/nftables.ts";
import type { Endpoint, ServicePort } from "../../lib/snapshot/snapshot.ts";
import { NftablesWriter } from "../../lib/writers/nftables/writer.ts";
import { servicePort, snapshotOf } from "../lib/writers/nftables/samples.ts";
import { NftNamespace } from "./nftables/namespace.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
/** A machine that is busy gets more time than is promised. */
const PATIENCE = Number(Deno.env.get("KUBE_PROXY_TEST_PATIENCE") ?? 1) * (isFull ? 1 : 4);
const { signal } = new AbortController();

interface Cluster {
  readonly name: string;
  readonly services: number;
  readonly endpoints: number;
  readonly promisedMs: number;
}

const clusters: readonly Cluster[] = [
  { name: "10,000 Services of 10 endpoints", services: 10_000, endpoints: 10, promisedMs: 1_000 },
  isFull
    ? { name: "a million elements", services: 1_000, endpoints: 1_000, promisedMs: 8_000 }
    : { name: "200,000 elements", services: 200, endpoints: 1_000, promisedMs: 2_000 },
];

for (const family of ipFamilies) {
  for (const { endpoints, name, promisedMs, services } of clusters) {
    Deno.test(`a restart over ${name} of ${family} takes ${promisedMs} ms at most and writes nothing`, async () => {
      await using namespace = await NftNamespace.create();
      using nftables = namespace.open();
      const ports = portsOf(family, { services, endpoints });
      await restart(nftables, { family, ports });
      const { tookMs, written } = await restart(nftables, { family, ports });
      assert.equal(written, 0);
      assert.ok(tookMs <= promisedMs * PATIENCE, `${tookMs} ms`);
      const table = `${family === "IPv4" ? "ip" : "ip6"} kube-proxy`;
      const { clusterIP } = ports[services >> 1];
      await namespace.nft([`delete element ${table} service-ips { ${clusterIP} . tcp . 80 }`]);
      const repair = await restart(nftables, { family, ports });
      assert.equal(repair.written, 1);
      assert.match(
        await namespace.nft([`get element ${table} service-ips { ${clusterIP} . tcp . 80 }`]),
        /goto pick-/,
      );
    });
  }
}

/** A new process's first sync. */
async function restart(
  nftables: Nftables,
  { family, ports }: { readonly family: IpFamily; readonly ports: readonly ServicePort[] },
): Promise<{ readonly tookMs: number; readonly written: number }> {
  const writer = new NftablesWriter({ family, nftables, masqueradeBit: 14 });
  const snapshot = snapshotOf(family, ports);
  const started = performance.now();
  const { notices, written } = await writer.sync(snapshot, { kind: "all" }, signal);
  const tookMs = performance.now() - started;
  assert.deepEqual(notices.filter(({ service }) => service !== undefined), []);
  return { tookMs, written };
}

function portsOf(
  family: IpFamily,
  { endpoints, services }: Pick<Cluster, "endpoints" | "services">,
): readonly ServicePort[] {
  return Array.from({ length: services }, (_, number) =>
    servicePort({
      name: `bulk-${number}`,
      clusterIP: addressOf(family, { prefix: "172.30", number: number + 1 }),
      clusterEndpoints: Array.from({ length: endpoints }, (_, i): Endpoint => ({
        ip: addressOf(family, { prefix: `10.${128 + (i >> 8)}`, number: (number + i) & 0xffff }),
        port: 8080,
        isLocal: false,
      })),
    }));
}

/** Two words of a network and two of the number. */
function addressOf(
  family: IpFamily,
  { number, prefix }: { readonly prefix: string; readonly number: number },
): string {
  if (family === "IPv4") return `${prefix}.${number >> 8}.${number & 255}`;
  return `fd00:${prefix.replace(".", ":")}::${(number + 1).toString(16)}`;
}
