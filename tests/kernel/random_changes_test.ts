import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import type { Host } from "../scenarios/addresses.ts";
import type { ServiceDescription } from "../scenarios/description.ts";
import type { FateRow } from "../scenarios/fate.ts";
import {
  clusterManifests,
  type Manifest,
  nodeManifest,
  serviceManifests,
} from "../scenarios/manifests.ts";
import { expectationOf, type FrontendKind, frontendsOf } from "../scenarios/model.ts";
import { changedService, Draws, randomService } from "../scenarios/random_services.ts";
import { allModes, nameOfMode, type Setup, setupsOf } from "../scenarios/setups.ts";
import { Cluster } from "./rig/cluster.ts";
import { describeWrong } from "./rig/fates.ts";
import { InProcessProgrammer, type InProcessProxy } from "./rig/programmers/in_process.ts";
import { deleteProxyTables } from "./rig/shop_cluster.ts";
import { differentLines, ruleLines } from "./rig/rule_lines.ts";
import { listProxyTable, traceFates } from "./rig/traced_fates.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
/** The whole cluster is looked at this often, and compared with what a clean start writes. */
const stepsPerLook = 100;
const seed = Number(Deno.env.get("KUBE_PROXY_TEST_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const numbers = Array.from({ length: 12 }, (_, i) => 100 + i);

for (const mode of allModes) {
  const steps = mode.kind === "nftables" ? isFull ? 10_000 : 300 : isFull ? 2_000 : 100;
  const setups = setupsOf(mode);
  Deno.test(`after ${steps} random changes the kernel does what it is to do, ${nameOfMode(mode)} (seed ${seed})`, async () => {
    await using cluster = await Cluster.create();
    const draws = new Draws(seed);
    for (let done = 0; done < steps;) {
      const setup = setups[(done / stepsPerLook) % setups.length];
      await using run = await RandomRun.start(cluster, draws, setup);
      for (let i = 0; i < stepsPerLook && done < steps; i++, done++) await run.step(done);
      await run.compareWithCleanStart();
      await deleteProxyTables(cluster, { mode });
    }
  });
}

/** One proxy that lives through many changes. */
class RandomRun implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #draws: Draws;
  readonly #setup: Setup;
  readonly #services = new Map<number, ServiceDescription>();
  /** What each number was last, also when it is gone. */
  readonly #last = new Map<number, ServiceDescription>();
  readonly #proxy: InProcessProxy;
  #zone = "zone-a";

  private constructor(
    fields: { cluster: Cluster; draws: Draws; setup: Setup; proxy: InProcessProxy },
  ) {
    this.#cluster = fields.cluster;
    this.#draws = fields.draws;
    this.#setup = fields.setup;
    this.#proxy = fields.proxy;
  }

  static async start(cluster: Cluster, draws: Draws, setup: Setup): Promise<RandomRun> {
    const services = numbers.filter(() => draws.chance(0.5))
      .map((number) => randomService(draws, number));
    const proxy = await new InProcessProgrammer().start(cluster, {
      manifests: clusterManifests(services),
      setup,
    });
    const run = new RandomRun({ cluster, draws, setup, proxy });
    for (const number of numbers) run.#last.set(number, randomService(draws, number));
    for (const service of services) run.#set(service.number, service);
    return run;
  }

  /** Some Services change at once; those and a few others are looked at. */
  async step(step: number): Promise<void> {
    const apply: Manifest[] = [];
    const remove: Manifest[] = [];
    const changed = new Set<number>();
    for (let i = 0; i <= this.#draws.below(3); i++) {
      const number = this.#draws.pick(numbers);
      if (changed.has(number)) continue;
      changed.add(number);
      const before = this.#services.get(number);
      const after = changedService(this.#draws, before, number);
      const [old, now] = [before, after].map((each) => each ? serviceManifests(each) : []);
      apply.push(...now);
      remove.push(...old.filter((each) => !now.some((other) => sameObject(each, other))));
      this.#set(number, after);
    }
    if (this.#draws.chance(0.05)) {
      this.#zone = this.#draws.pick(["zone-a", "zone-b", "zone-c"]);
      apply.push(nodeManifest(this.#zone));
      for (const number of numbers) changed.add(number);
    }
    await this.#proxy.change({ apply, remove });
    changed.add(this.#draws.pick(numbers)).add(this.#draws.pick(numbers));
    await this.#look([...changed], `step ${step}, seed ${seed}`);
  }

  /** All Services, and whether the tables hold what a proxy writes that never knew another state. */
  async compareWithCleanStart(): Promise<void> {
    await this.#look(numbers, `the last step, seed ${seed}`);
    // Chains that nothing leads to any more go with the sync after.
    await this.#proxy.change({ apply: [], remove: [] });
    const lived = await this.#lines();
    await deleteProxyTables(this.#cluster, this.#setup);
    await using _fresh = await new InProcessProgrammer().start(this.#cluster, {
      manifests: [
        ...clusterManifests([...this.#services.values()]),
        nodeManifest(this.#zone),
      ],
      setup: this.#setup,
    });
    const clean = await this.#lines();
    assert.ok(clean.every(({ length }) => length > 0), "a clean start wrote nothing");
    for (const [i, family] of ipFamilies.entries()) {
      const different = differentLines(lived[i], clean[i]).join("\n");
      assert.ok(different === "", `${family}, seed ${seed}:\n${different}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
  }

  #set(number: number, service: ServiceDescription | undefined): void {
    if (service === undefined) {
      this.#services.delete(number);
    } else {
      this.#services.set(number, service);
      this.#last.set(number, service);
    }
  }

  #lines() {
    const { mode } = this.#setup;
    return Promise.all(ipFamilies.map((family) => ruleLines(this.#cluster, { mode, family })));
  }

  /** Only nftables' rules can be asked without packets; iptables' are judged by a clean start's. */
  async #look(looked: readonly number[], when: string): Promise<void> {
    if (this.#setup.mode.kind !== "nftables") return;
    const tables = await Promise.all(
      ipFamilies.map((family) => listProxyTable(this.#cluster, family)),
    );
    for (const [i, family] of ipFamilies.entries()) {
      const services = [...this.#last.values()];
      const rows = looked.flatMap((number) => this.#rowsOf(number, family));
      const options = { services, rows, setup: this.#setup, family };
      const wrong = describeWrong(traceFates(tables[i], options));
      assert.ok(wrong === "", `${when}:\n${wrong}`);
    }
  }

  #rowsOf(number: number, family: IpFamily): readonly FateRow[] {
    const service = this.#services.get(number);
    const last = this.#last.get(number);
    assert.ok(last);
    const hosts: readonly Host[] = ["client-a", "pod-a", "remote-pod", "node"];
    const kinds: readonly FrontendKind[] = [
      "cluster-ip",
      "external-ip",
      "load-balancer-ip",
      "node-port",
    ];
    return last.ports.flatMap((port) =>
      kinds.filter((kind) => kind !== "node-port" || last.type !== "ClusterIP").flatMap((kind) =>
        hosts.map((from): FateRow => {
          const isThere = service !== undefined && frontendsOf(service).includes(kind);
          const to = kind === "node-port"
            ? { kind, service: last.name, port: port.port, at: "first" as const }
            : { kind, service: last.name, port: port.port };
          const expect = isThere
            ? expectationOf(service, { from, to: kind, port, family, zone: this.#zone })
            // Cluster IPs that nobody has are the cluster's all the same.
            : { kind: kind === "cluster-ip" ? "dropped" as const : "untouched" as const };
          return { from, to, protocol: port.protocol, expect };
        })
      )
    );
  }
}

function sameObject(a: Manifest, b: Manifest): boolean {
  return a.kind === b.kind && a.metadata.name === b.metadata.name;
}
