import { untilAborted } from "../base/abort.ts";
import { FakeCommands } from "./fake_commands.ts";
import { FakeConntrack } from "./conntrack/fake_conntrack.ts";
import { FakeHost } from "./fake_host.ts";
import { FakeSelf } from "./fake_self.ts";
import { FakeSysctl } from "./fake_sysctl.ts";
import type { OpenSocket } from "./inspection/open_sockets.ts";
import { FakeIpset } from "./ipset/fake_ipset.ts";
import { FakeIpvs } from "./ipvs/fake_ipvs.ts";
import type { Kernel } from "./kernel.ts";
import { FakeLinks } from "./links/fake_links.ts";
import { FakeNfacct } from "./nfacct/fake_nfacct.ts";
import { FakeNftables } from "./nftables/fake.ts";
import { FakeXtables } from "./xtables/fake.ts";
import { FakeLegacyTables } from "./xtables/fake_legacy_tables.ts";
import type { XtBackend } from "./xtables/xtables.ts";

/** The parts a test wants otherwise than they are by default. */
export interface FakeKernelParts {
  readonly tables?: FakeNftables;
  readonly conntrack?: FakeConntrack;
  readonly links?: FakeLinks;
  readonly ipvs?: FakeIpvs;
  readonly ipset?: FakeIpset;
  readonly sysctl?: FakeSysctl;
  readonly host?: FakeHost;
  readonly self?: FakeSelf;
  readonly nfacct?: FakeNfacct;
  readonly commands?: FakeCommands;
  readonly legacyTables?: FakeLegacyTables;
  /** Why nf_tables cannot be opened; it can when absent. */
  readonly nftablesRefusal?: Error;
}

/** A kernel in memory, made of the fakes. */
export class FakeKernel implements Kernel, AsyncDisposable {
  readonly tables: FakeNftables;
  readonly conntrack: FakeConntrack;
  readonly links: FakeLinks;
  readonly ipvs: FakeIpvs;
  readonly ipset: FakeIpset;
  readonly sysctl: FakeSysctl;
  readonly host: FakeHost;
  readonly self: FakeSelf;
  readonly nfacct: FakeNfacct;
  readonly commands: FakeCommands;
  readonly legacyTables: FakeLegacyTables;
  /** Rules of iptables, by engine. */
  readonly rules: Readonly<Record<XtBackend, FakeXtables>>;
  /** What `openSockets` tells. */
  sockets: readonly OpenSocket[] = [];
  readonly #refusal: Error | undefined;
  readonly #lost = Promise.withResolvers<Error>();

  constructor(parts: FakeKernelParts = {}) {
    this.tables = parts.tables ?? new FakeNftables();
    this.conntrack = parts.conntrack ?? new FakeConntrack();
    this.links = parts.links ?? new FakeLinks();
    this.ipvs = parts.ipvs ?? new FakeIpvs();
    this.ipset = parts.ipset ?? new FakeIpset();
    this.sysctl = parts.sysctl ?? new FakeSysctl();
    this.host = parts.host ?? new FakeHost();
    this.self = parts.self ?? new FakeSelf();
    this.nfacct = parts.nfacct ?? new FakeNfacct();
    this.commands = parts.commands ?? new FakeCommands();
    this.legacyTables = parts.legacyTables ?? new FakeLegacyTables();
    const hasCounter = (name: string) => this.nfacct.counters.has(name);
    const hasSet = (name: string) => this.ipset.indexOf(name) !== undefined;
    const rules = {
      nft: new FakeXtables({ backend: "nft", hasCounter, hasSet }),
      legacy: new FakeXtables({ backend: "legacy", hasCounter, hasSet }),
    };
    this.rules = rules;
    this.ipset.countRules = (name) =>
      rules.nft.countRulesWithSet(name) + rules.legacy.countRulesWithSet(name);
    this.#refusal = parts.nftablesRefusal;
  }

  openSockets(): readonly OpenSocket[] {
    return this.sockets;
  }

  xtables(backend: XtBackend): Promise<FakeXtables> {
    const isRefused = backend === "nft" && this.#refusal;
    return isRefused ? Promise.reject(isRefused) : Promise.resolve(this.rules[backend]);
  }

  /** The way to the kernel dies. */
  lose(error: Error): void {
    this.#lost.resolve(error);
  }

  async untilLost(signal: AbortSignal): Promise<void> {
    const aborted = untilAborted(signal).then(() => undefined);
    const error = await Promise.race([this.#lost.promise, aborted]);
    if (error) throw error;
  }

  nftables(): Promise<FakeNftables> {
    return this.#refusal ? Promise.reject(this.#refusal) : Promise.resolve(this.tables);
  }

  /** There is nothing to close. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
