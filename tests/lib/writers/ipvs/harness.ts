/** A writer on a kernel in memory, and what that holds as text. */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { FakeKernel, type FakeKernelParts } from "../../../../lib/kernel/fake_kernel.ts";
import { fakeAddress, FakeLinks, fakeRoute } from "../../../../lib/kernel/links/fake_links.ts";
import { destinationText, serverText } from "../../../../lib/kernel/ipvs/text.ts";
import type { ServicePort, Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import { IpvsWriter, type WriterSettings } from "../../../../lib/writers/ipvs/writer.ts";
import type { SyncReport } from "../../../../lib/writers/writer.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { addresses } from "./samples.ts";

const signal = new AbortController().signal;

const plain: WriterSettings = { masqueradeBit: 14, scheduler: "rr", excludeCIDRs: [] };

export class Harness {
  readonly family: IpFamily;
  readonly clock = new FakeClock();
  readonly kernel: FakeKernel;
  readonly #settings: WriterSettings;
  writer: IpvsWriter;

  constructor({ family = "IPv4", parts = {}, settings = {} }: {
    readonly family?: IpFamily;
    readonly parts?: FakeKernelParts;
    readonly settings?: Partial<WriterSettings>;
  } = {}) {
    this.family = family;
    this.#settings = { ...plain, ...settings };
    this.kernel = new FakeKernel({ links: nodeLinks(family), ...parts });
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
    return this.writer.sync(snapshot, { kind: "some", services, settings: false }, signal);
  }

  drifted(): Promise<boolean> {
    return this.writer.drifted(signal);
  }

  maintain(): Promise<void> {
    return this.writer.maintain(signal);
  }

  /** Servers with their destinations. */
  servers(): readonly string[] {
    return this.kernel.ipvs.read().filter(({ server }) => server.family === this.family)
      .flatMap(({ destinations, server }) => [
        serverText(server),
        ...destinations.map((each) => destinationText(server, each)),
      ]).sort();
  }

  /** Addresses on the link of this mode. */
  bound(): readonly string[] {
    return this.kernel.links.addresses(this.family)
      .filter(({ linkName }) => linkName === "kube-ipvs0").map(({ ip }) => ip).sort();
  }

  members(set: string): readonly string[] {
    return [...this.kernel.ipset.members(set) ?? []].sort();
  }

  /** The rules of a chain. */
  async rules(table: "nat" | "filter", chain: string): Promise<readonly string[]> {
    const reading = await this.kernel.rules.nft.read(this.family, [table]);
    const listed = (await reading.rules(table, [chain])).get(chain) ?? [];
    return listed.map(({ key }) => key);
  }

  /** Everything that the mode can write. */
  async dump(): Promise<string> {
    const lines: string[] = [...this.servers(), ...this.bound()];
    for (const { name } of this.kernel.ipset.list()) lines.push(name, ...this.members(name));
    for (const table of ["nat", "filter"] as const) {
      const { chains } = await this.kernel.rules.nft.read(this.family, [table]);
      for (const { name } of chains.filter((each) => each.table === table)) {
        const rules = await this.rules(table, name);
        lines.push(
          `${table} ${name}`,
          ...name === "KUBE-IPVS-OUT-FILTER" ? rules.toSorted() : rules,
        );
      }
    }
    return lines.join("\n");
  }

  #newWriter(): IpvsWriter {
    return new IpvsWriter({
      family: this.family,
      kernel: this.kernel,
      xtables: this.kernel.rules.nft,
      settings: this.#settings,
      clock: this.clock,
    });
  }
}

/** A node with one address besides loopback. */
export function nodeLinks(family: IpFamily): FakeLinks {
  return new FakeLinks({
    links: [{ index: 2, name: "eth0", kind: "veth", up: true }],
    addresses: [fakeAddress(addresses[family].node(1))],
    routes: [fakeRoute(family === "IPv4" ? "0.0.0.0/0" : "::/0")],
  });
}
