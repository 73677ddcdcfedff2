/**
 * Session affinity of many endpoints: a start takes seconds and little of the kernel's memory, and
 * clients keep their endpoints through a restart, and through the upgrade of a table that has a set
 * for each endpoint.
 */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import type { Nftables } from "../../lib/kernel/nftables/nftables.ts";
import type { Endpoint, ServicePort } from "../../lib/snapshot/snapshot.ts";
import { affinityChainName, endpointNames } from "../../lib/writers/nftables/names.ts";
import { affinitySetName } from "../../lib/writers/nftables/shards.ts";
import { NftablesWriter } from "../../lib/writers/nftables/writer.ts";
import { servicePort, snapshotOf } from "../lib/writers/nftables/samples.ts";
import { NftNamespace } from "./nftables/namespace.ts";

const SERVICES = 500;
const ENDPOINTS = 10;
/** Of both families together; a machine that is busy gets more time than is promised. */
const PATIENCE = Number(Deno.env.get("KUBE_PROXY_TEST_PATIENCE") ?? 1);
const START_MS = (Deno.env.get("KUBE_PROXY_TEST_FULL") === undefined ? 15_000 : 3_000) * PATIENCE;
const MEMORY_MB = 50;
const SECONDS = 600;
const { signal } = new AbortController();

Deno.test("5,000 endpoints with session affinity: start, memory, and clients through a restart", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  const { tookMb, tookMs } = await quietestStart(namespace, nftables);
  assert.ok(tookMs <= START_MS, `${tookMs} ms`);
  assert.ok(tookMb <= MEMORY_MB, `${tookMb} MB`);
  for (const family of ipFamilies) {
    const [port] = portsOf(family);
    const [endpoint] = port.clusterEndpoints;
    const { chain, number } = endpointNames(port, endpoint);
    const set = affinitySetName(number);
    const client = family === "IPv4" ? "192.0.2.7" : "2001:db8::7";
    const table = `${family === "IPv4" ? "ip" : "ip6"} kube-proxy`;
    const pin = `${client} . ${number}`;
    await namespace.nft([`add element ${table} ${set} { ${pin} timeout ${SECONDS}s }`]);
    assert.equal(await sync(nftables, family), 0);
    const listing = await namespace.nft([`list set ${table} ${set}`]);
    assert.match(listing, new RegExp(`${pin} timeout 10m expires 9m`));
    assert.match(await namespace.nft([`list chain ${table} ${chain}`]), new RegExp(`@${set} `));
    const rules = await namespace.nft([
      `list chain ${table} ${affinityChainName(port, "cluster")}`,
    ]);
    assert.equal(rules.match(/ goto endpoint-/g)?.length, 2 * ENDPOINTS);
  }
});

Deno.test("clients keep their endpoints when a table with a set for each endpoint is taken over", async () => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  const [port] = portsOf("IPv4");
  const [endpoint] = port.clusterEndpoints;
  const { chain, number } = endpointNames(port, endpoint);
  const former = chain.replace("endpoint-", "affinity-");
  const table = "table ip kube-proxy";
  const set = `set ${former} { type ipv4_addr; flags dynamic,timeout; timeout 3h; ` +
    "elements = { 192.0.2.7 }; }";
  await namespace.nft(["-f", "-"], `${table} {\n${set}\n}\n`);
  await sync(nftables, "IPv4");
  const listing = await namespace.nft([`list set ip kube-proxy ${affinitySetName(number)}`]);
  assert.match(listing, new RegExp(`192.0.2.7 . ${number} timeout 10m expires 9m`));
  assert.equal(await sync(nftables, "IPv4"), 0);
});

/** Others take memory and time of the machine too: the start that met the fewest of them counts. */
async function quietestStart(
  namespace: NftNamespace,
  nftables: Nftables,
): Promise<{ readonly tookMb: number; readonly tookMs: number }> {
  for (let attempt = 1;; attempt++) {
    const before = kernelMegabytes();
    const started = performance.now();
    for (const family of ipFamilies) await sync(nftables, family);
    const tookMs = performance.now() - started;
    const tookMb = kernelMegabytes() - before;
    const isGood = tookMb <= MEMORY_MB && tookMs <= START_MS;
    if (isGood || attempt === 3) return { tookMb, tookMs };
    await namespace.nft(["flush ruleset"]);
  }
}

/** A new process's first sync; resolves to how many operations it wrote. */
async function sync(nftables: Nftables, family: IpFamily): Promise<number> {
  const writer = new NftablesWriter({ family, nftables, masqueradeBit: 14 });
  const snapshot = snapshotOf(family, portsOf(family));
  const { notices, written } = await writer.sync(snapshot, { kind: "all" }, signal);
  assert.deepEqual(notices, []);
  await writer.maintain(signal);
  return written;
}

function portsOf(family: IpFamily): readonly ServicePort[] {
  const isIpv4 = family === "IPv4";
  return Array.from({ length: SERVICES }, (_, service) => {
    const [high, low] = [1 + (service >> 8), service & 255];
    const clusterEndpoints = Array.from({ length: ENDPOINTS }, (_, i): Endpoint => ({
      ip: isIpv4 ? `10.128.${high * 10 + i}.${low}` : `fd00:10:128::${high}:${i + 1}:${low + 1}`,
      port: 8080,
      isLocal: false,
    }));
    return servicePort({
      name: `sticky-${service}`,
      clusterIP: isIpv4 ? `172.30.${high}.${low}` : `fd00:172:30::${high}:${low + 1}`,
      affinitySeconds: SECONDS,
      clusterEndpoints,
    });
  });
}

/** What the kernel took for itself and does not give back for the asking. */
function kernelMegabytes(): number {
  const text = Deno.readTextFileSync("/proc/meminfo");
  return Number(/^SUnreclaim:\s+(\d+) kB$/m.exec(text)?.[1] ?? NaN) / 1024;
}
