/** A writer on tables in memory. */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { FakeNfacct } from "../../../../lib/kernel/nfacct/fake_nfacct.ts";
import { FakeXtables } from "../../../../lib/kernel/xtables/fake.ts";
import type { XtBackend } from "../../../../lib/kernel/xtables/xtables.ts";
import type { ServicePort, Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import { Counters } from "../../../../lib/writers/iptables/counters.ts";
import type { IptablesMetrics, RulesReport } from "../../../../lib/writers/iptables/metrics.ts";
import type { NodeFacts } from "../../../../lib/writers/iptables/node_facts.ts";
import { IptablesWriter } from "../../../../lib/writers/iptables/writer.ts";
import type { SyncReport } from "../../../../lib/writers/writer.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { plainFacts } from "./samples.ts";

const signal = new AbortController().signal;

export class Harness {
  readonly family: IpFamily;
  readonly clock = new FakeClock();
  readonly nfacct = new FakeNfacct();
  readonly xtables: FakeXtables;
  readonly failures: boolean[] = [];
  readonly reports: RulesReport[] = [];
  readonly #facts: NodeFacts;
  writer: IptablesWriter;

  constructor(
    { backend = "nft", facts = plainFacts, family = "IPv4", isSocketSmall = false }: {
      readonly backend?: XtBackend;
      readonly facts?: NodeFacts;
      readonly family?: IpFamily;
      readonly isSocketSmall?: boolean;
    } = {},
  ) {
    this.family = family;
    this.#facts = facts;
    const hasCounter = (name: string) => this.nfacct.counters.has(name);
    this.xtables = new FakeXtables({ backend, hasCounter, isSocketSmall });
    this.writer = this.#newWriter();
  }

  /** The program starts again on the same kernel. */
  restart(): void {
    this.writer = this.#newWriter();
  }

  full(snapshot: Snapshot): Promise<SyncReport> {
    return this.writer.sync(snapshot, { kind: "all" }, signal);
  }

  some(snapshot: Snapshot, ...changed: readonly ServicePort[]): Promise<SyncReport> {
    const services = new Set(changed.map(({ key }) => key));
    return this.writer.sync(snapshot, { kind: "some", services, settings: true }, signal);
  }

  drifted(): Promise<boolean> {
    return this.writer.drifted(signal);
  }

  /** All tables as text: chains sorted, rules of shared chains too, since their order is free. */
  async dump(): Promise<string> {
    const tables = ["filter", "nat", "mangle"] as const;
    const reading = await this.xtables.read(this.family, tables);
    const lines: string[] = [];
    for (const table of tables) {
      const names = reading.chains.filter((each) => each.table === table).map(({ name }) => name);
      const rules = await reading.rules(table, names.toSorted());
      for (const [chain, listed] of rules) {
        const keys = listed.map(({ key }) => key);
        const isShared = /^KUBE-(SERVICES|NODEPORTS|EXTERNAL-SERVICES|PROXY-FIREWALL)$/.test(chain);
        lines.push(
          `${table} ${chain}`,
          ...(isShared ? keys.toSorted() : keys).map((key) => `  ${key}`),
        );
      }
    }
    return lines.join("\n");
  }

  #newWriter(): IptablesWriter {
    const metrics: IptablesMetrics = {
      restoreFailed: (_, { isPartial }) => this.failures.push(isPartial),
      rules: (_, report) => this.reports.push(report),
    };
    return new IptablesWriter({
      family: this.family,
      xtables: this.xtables,
      facts: this.#facts,
      counters: new Counters(this.nfacct),
      clock: this.clock,
      metrics,
    });
  }
}
