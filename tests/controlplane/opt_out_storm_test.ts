/** Random changes of labels and Services and restarts of the apiserver: the end state is that of a fresh start. */
import assert from "node:assert/strict";
import { Draws } from "../scenarios/random_services.ts";
import { ApiClient, type ManifestObject } from "./rig/api.ts";
import { endpointSliceObject, namespaceObject } from "./rig/objects.ts";
import { followed, OptOutCluster, optOutLabel, reachableService } from "./rig/opt_out_cluster.ts";
import { podAddresses, type PodName, whoAnswers } from "./rig/small_cluster.ts";

const full = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const STEPS = full ? 1_000 : 30;
/** One restart of the apiserver in so many steps, each right behind a change of a label. */
const STEPS_PER_RESTART = full ? 100 : 15;
const seed = Number(Deno.env.get("KUBE_PROXY_TEST_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const SETTLE_MS = 30_000;
const NAMESPACES = 6;
const SERVICES_PER_NAMESPACE = 5;

interface StormService {
  readonly clusterIPs: readonly string[];
  readonly objects: readonly ManifestObject[];
  exists: boolean;
  pod: PodName;
}

/** What the storm has done, as far as packets can tell. */
class Storm {
  readonly #cluster: OptOutCluster;
  readonly #draws: Draws;
  readonly #labels = new Map<string, string>();
  readonly #services = new Map<string, StormService[]>();
  #api: ApiClient;

  constructor(cluster: OptOutCluster, seed: number) {
    this.#cluster = cluster;
    this.#draws = new Draws(seed);
    this.#api = new ApiClient(cluster.small.plane.access);
  }

  async begin(): Promise<void> {
    for (let i = 0; i < NAMESPACES; i++) {
      const namespace = `storm-${i}`;
      await this.#api.create(namespaceObject(namespace));
      const services = Array.from({ length: SERVICES_PER_NAMESPACE }, (_, j): StormService => ({
        ...reachableService(namespace, `service-${j}`, { number: 1 + i * 16 + j }),
        exists: false,
        pod: "a",
      }));
      this.#services.set(namespace, services);
      for (const service of services.slice(0, 3)) await this.#toggle(service);
    }
  }

  async step(number: number): Promise<void> {
    const namespace = `storm-${this.#draws.below(NAMESPACES)}`;
    const restart = number % STEPS_PER_RESTART === STEPS_PER_RESTART - 1;
    if (restart || this.#draws.chance(0.4)) await this.#relabel(namespace);
    else if (this.#draws.chance(0.05)) await this.#recreate(namespace);
    else {
      const services = this.#services.get(namespace) ?? [];
      const service = this.#draws.pick(services);
      if (service.exists && this.#draws.chance(0.6)) await this.#move(namespace, service);
      else await this.#toggle(service);
    }
    if (restart) await this.#restart();
  }

  /** Services that are answered otherwise than they should be. */
  async wrong(): Promise<readonly string[]> {
    const wrong: string[] = [];
    for (const [namespace, services] of this.#services) {
      const out = this.#labels.get(namespace) === "disabled";
      for (const { clusterIPs, exists, pod } of services) {
        const expected = exists && !out ? pod : undefined;
        for (const address of clusterIPs) {
          const found = await whoAnswers(address);
          if (found !== expected) wrong.push(`${namespace} ${address}: ${found}, not ${expected}`);
        }
      }
    }
    return wrong;
  }

  end(): void {
    this.#api[Symbol.dispose]();
  }

  async #relabel(namespace: string): Promise<void> {
    const values = ["disabled", "disabled", "Disabled", undefined, undefined];
    const value = this.#draws.pick(values);
    if (value === undefined) this.#labels.delete(namespace);
    else this.#labels.set(namespace, value);
    const labels = { [optOutLabel]: value ?? null };
    await this.#api.patch(namespaceObject(namespace), { metadata: { labels } });
  }

  /** Everything in it goes and comes back; the label does not. */
  async #recreate(namespace: string): Promise<void> {
    const services = (this.#services.get(namespace) ?? []).filter(({ exists }) => exists);
    for (const service of services) await this.#toggle(service);
    await this.#api.delete(namespaceObject(namespace));
    await this.#api.create(namespaceObject(namespace));
    this.#labels.delete(namespace);
    for (const service of services) await this.#toggle(service);
  }

  async #toggle(service: StormService): Promise<void> {
    for (const object of service.objects) {
      await (service.exists ? this.#api.delete(object) : this.#api.create(object));
    }
    service.exists = !service.exists;
    service.pod = "a";
  }

  /** Its endpoint is the other pod from now on. */
  async #move(namespace: string, service: StormService): Promise<void> {
    service.pod = service.pod === "a" ? "b" : "a";
    const [{ metadata: { name } }] = service.objects;
    for (const addressType of ["IPv4", "IPv6"] as const) {
      await this.#api.update(endpointSliceObject({
        namespace,
        name: `${name}-${addressType.toLowerCase()}`,
        service: name,
        addressType,
        addresses: [podAddresses[service.pod][addressType]],
      }));
    }
  }

  /** Connections of the old client lead to the process that is gone. */
  async #restart(): Promise<void> {
    const { plane } = this.#cluster.small;
    this.#api[Symbol.dispose]();
    await plane.stopApiserver();
    await plane.startApiserver();
    this.#api = new ApiClient(plane.access);
  }
}

Deno.test({
  name:
    `${STEPS} random changes and apiserver restarts end in what a fresh start writes (seed ${seed})`,
  sanitizeOps: false,
}, async () => {
  await using cluster = await OptOutCluster.create();

  const storm = new Storm(cluster, seed);
  try {
    await storm.begin();
    const alone = await openWatches(cluster);
    const proxy = await cluster.startProxy();
    for (let step = 0; step < STEPS; step++) {
      await storm.step(step);
      await oneWatchEach(cluster, alone);
    }
    const deadline = Date.now() + SETTLE_MS;
    let wrong: readonly string[];
    do {
      wrong = await storm.wrong();
      assert.ok(wrong.length === 0 || Date.now() < deadline, `seed ${seed}: ${wrong.join("\n")}`);
    } while (wrong.length > 0);
    await oneWatchEach(cluster, alone);
    const reached = await cluster.kernelLines();
    assert.ok(proxy.isRunning, proxy.log());
    await proxy.end("SIGTERM");
    await cluster.small.deleteRules();
    await using _fresh = await cluster.startProxy();
    assert.deepEqual(reached, await cluster.kernelLines(), `seed ${seed}`);
  } finally {
    storm.end();
  }
});

/** Open watches of each resource; a client of its own, because the apiserver restarts. */
async function openWatches(cluster: OptOutCluster): Promise<readonly number[]> {
  const served = await cluster.served();
  return followed.map((resource) => served[resource].openWatches);
}

/** One more than without the proxy, but for the moment of a switch or a restart. */
async function oneWatchEach(cluster: OptOutCluster, alone: readonly number[]): Promise<void> {
  const deadline = Date.now() + 2_000;
  for (;;) {
    const open = await openWatches(cluster);
    if (open.every((count, i) => count <= alone[i] + 1)) return;
    assert.ok(Date.now() < deadline, `for 2 s ${open} watches, without the proxy ${alone}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
