import { FakeConntrack } from "./conntrack/fake_conntrack.ts";
import { FakeHost } from "./fake_host.ts";
import { FakeSelf } from "./fake_self.ts";
import { FakeSysctl } from "./fake_sysctl.ts";
import type { Kernel } from "./kernel.ts";
import { FakeLinks } from "./links/fake_links.ts";
import { FakeNftables } from "./nftables/fake.ts";

/** The parts a test wants otherwise than they are by default. */
export interface FakeKernelParts {
  readonly tables?: FakeNftables;
  readonly conntrack?: FakeConntrack;
  readonly links?: FakeLinks;
  readonly sysctl?: FakeSysctl;
  readonly host?: FakeHost;
  readonly self?: FakeSelf;
  /** Why nf_tables cannot be opened; it can when absent. */
  readonly nftablesRefusal?: Error;
}

/** A kernel in memory, made of the fakes. */
export class FakeKernel implements Kernel {
  readonly tables: FakeNftables;
  readonly conntrack: FakeConntrack;
  readonly links: FakeLinks;
  readonly sysctl: FakeSysctl;
  readonly host: FakeHost;
  readonly self: FakeSelf;
  readonly #refusal: Error | undefined;

  constructor(parts: FakeKernelParts = {}) {
    this.tables = parts.tables ?? new FakeNftables();
    this.conntrack = parts.conntrack ?? new FakeConntrack();
    this.links = parts.links ?? new FakeLinks();
    this.sysctl = parts.sysctl ?? new FakeSysctl();
    this.host = parts.host ?? new FakeHost();
    this.self = parts.self ?? new FakeSelf();
    this.#refusal = parts.nftablesRefusal;
  }

  nftables(): Promise<FakeNftables> {
    return this.#refusal ? Promise.reject(this.#refusal) : Promise.resolve(this.tables);
  }
}
