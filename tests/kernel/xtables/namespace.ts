/** A network namespace of its own for each test of iptables' rules. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import assert from "node:assert/strict";
import type { IpsetChange } from "../../../lib/kernel/ipset/ipset.ts";
import { NetlinkIpset } from "../../../lib/kernel/ipset/netlink_ipset.ts";
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import { NftXtables } from "../../../lib/kernel/xtables/nft_xtables.ts";
import { sampleCounter, sampleSet } from "../../lib/kernel/xtables/sample_rules.ts";
import { type Commands, SystemCommands } from "../../../lib/kernel/commands.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { NetlinkNfacct } from "../../../lib/kernel/nfacct/netlink_nfacct.ts";
import { DirectTransport } from "../../../lib/kernel/nf_tables/direct_transport.ts";
import { type LegacyTables, ProcLegacyTables } from "../../../lib/kernel/xtables/legacy_tables.ts";
import { LegacyXtables } from "../../../lib/kernel/xtables/legacy_xtables.ts";
import { toolOf } from "../../../lib/kernel/xtables/rules.ts";
import type { XtSets } from "../../../lib/kernel/xtables/sets.ts";
import { runCommand } from "../rig/command.ts";
import { removeProxyRecord } from "../rig/proxy_record.ts";

/** A namespace that goes away with `await using`, if it was made here. */
export class XtNamespace implements AsyncDisposable {
  readonly name: string;
  readonly #isOurs: boolean;
  readonly #transports: DirectTransport[] = [];

  private constructor(name: string, { isOurs }: { readonly isOurs: boolean }) {
    this.name = name;
    this.#isOurs = isOurs;
  }

  static async create(): Promise<XtNamespace> {
    const name = `xt-test-${Deno.pid}-${crypto.randomUUID().slice(0, 8)}`;
    await runCommand(["ip", "netns", "add", name]);
    return new XtNamespace(name, { isOurs: true });
  }

  /** One that somebody else made, and removes. */
  static of(name: string): XtNamespace {
    return new XtNamespace(name, { isOurs: false });
  }

  /** nf_tables of this namespace, by a socket in this thread; closed with the namespace. */
  transport(): DirectTransport {
    const transport = inNetworkNamespace(
      `/run/netns/${this.name}`,
      () => new DirectTransport({ hasNotices: true }),
    );
    this.#transports.push(transport);
    return transport;
  }

  /** The older tables of this namespace, by the machine's tools. */
  legacy(): LegacyXtables {
    return new LegacyXtables({
      commands: this.commands(),
      tables: this.legacyTables(),
      sets: this.sets(),
    });
  }

  /** Programs that run in here. */
  commands(): Commands {
    const system = new SystemCommands("/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin");
    return {
      lookPath: (name) => system.lookPath(name),
      run: (argv, options) => system.run(["ip", "netns", "exec", this.name, ...argv], options),
    };
  }

  /** The older tables as they are seen from in here. */
  legacyTables(): LegacyTables {
    const real = new ProcLegacyTables();
    const path = `/run/netns/${this.name}`;
    return {
      loaded: (family) => inNetworkNamespace(path, () => real.loaded(family)),
      chains: (family, table) => inNetworkNamespace(path, () => real.chains(family, table)),
      among: (family, table, chains) =>
        inNetworkNamespace(path, () => ({ found: real.among(family, table, chains) })).found,
      info: (family, table) => inNetworkNamespace(path, () => real.info(family, table)),
      blob: (family, table) =>
        inNetworkNamespace(path, () => ({ read: real.blob(family, table) })).read,
    };
  }

  /** Makes a counter in here. */
  addCounter(name: string): void {
    inNetworkNamespace(`/run/netns/${this.name}`, () => new NetlinkNfacct().ensure(name));
  }

  /** Makes what sample rules name: a counter and a set. */
  async addSampleObjects(): Promise<void> {
    const adding: Promise<unknown>[] = [];
    inNetworkNamespace(`/run/netns/${this.name}`, () => {
      new NetlinkNfacct().ensure(sampleCounter);
      adding.push(new NetlinkIpset(new KernelFiles()).commit([{ kind: "create", set: sampleSet }]));
    });
    assert.deepEqual(await adding[0], []);
  }

  /** Makes changes to the sets of this namespace. */
  async changeSets(changes: readonly IpsetChange[]): Promise<void> {
    const ipset = new NetlinkIpset(new KernelFiles());
    // Each change is made at once, in the namespace in which it is asked for.
    for (const change of changes) {
      const failures = inNetworkNamespace(
        `/run/netns/${this.name}`,
        () => ({ made: ipset.commit([change]) }),
      );
      assert.deepEqual(await failures.made, []);
    }
  }

  /** All sets and their members, sorted, as `ipset save` would tell them. */
  savedSets(): readonly string[] {
    return inNetworkNamespace(`/run/netns/${this.name}`, () => {
      const ipset = new NetlinkIpset(new KernelFiles());
      return ipset.list().flatMap(({ family, name, type }) => [
        `create ${name} ${type} ${family ?? ""}`,
        ...[...ipset.members(name) ?? []].map((member) => `add ${name} ${member}`),
      ]).sort();
    });
  }

  /** nf_tables' rules of this namespace, with its sets. */
  nft(transport: DirectTransport = this.transport()): NftXtables {
    return new NftXtables(transport, this.sets());
  }

  /** Names and numbers of the sets in here. */
  sets(): XtSets {
    const path = `/run/netns/${this.name}`;
    const ipset = new NetlinkIpset(new KernelFiles());
    return {
      indexOf: (name) => inNetworkNamespace(path, () => ipset.indexOf(name)),
      nameOf: (index) => inNetworkNamespace(path, () => ipset.nameOf(index)),
    };
  }

  /** Whether there is such a counter in here. */
  hasCounter(name: string): boolean {
    const path = `/run/netns/${this.name}`;
    return inNetworkNamespace(path, () => new NetlinkNfacct().read(name) !== undefined);
  }

  /** Runs a program in here and returns what it printed. */
  run(argv: readonly string[], input?: string): Promise<string> {
    return runCommand(["ip", "netns", "exec", this.name, ...argv], input);
  }

  /** What a tool saves of one table, or of all; without comments, counters and repeated spaces. */
  async save(options: ToolOptions & { readonly table?: string }): Promise<string> {
    const table = options.table === undefined ? [] : ["-t", options.table];
    const saved = await this.run([...toolPath(options, "save"), ...table]);
    return saved.split("\n").filter((line) => !line.startsWith("#"))
      .map((line) => line.replace(/\[\d+:\d+\]/, "[0:0]").replaceAll("  ", " ")).join("\n");
  }

  /** Gives a tool something to restore. */
  async restore(input: string, options: ToolOptions & { readonly test?: boolean }): Promise<void> {
    const flags = options.test ? ["--test"] : ["--noflush"];
    await this.run([...toolPath(options, "restore"), ...flags], input);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports) transport.close();
    await removeProxyRecord(this.name);
    if (this.#isOurs) await runCommand(["ip", "netns", "delete", this.name]);
  }
}

/** Which tool: of which family and engine, and where its newer version lies. */
export interface ToolOptions {
  readonly family: IpFamily;
  readonly backend?: "nft" | "legacy";
  /** Path of a program that takes a tool's name and runs it, such as scripts/newer-iptables gives. */
  readonly through?: string;
}

function toolPath(
  { backend = "nft", family, through }: ToolOptions,
  what: "save" | "restore",
): readonly string[] {
  return [...through === undefined ? [] : [through], `${toolOf(family)}-${backend}-${what}`];
}
