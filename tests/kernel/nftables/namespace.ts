/** A network namespace of its own for each test of nf_tables. */
import { ownTable, type TableOwner } from "../rig/table_owner.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import {
  type NetlinkNftables,
  openNftablesInThread,
} from "../../../lib/kernel/nftables/netlink_nftables.ts";

/** A namespace that goes away with `await using`. */
export class NftNamespace implements AsyncDisposable {
  readonly name: string;
  readonly #program: string;

  private constructor(name: string, program: string) {
    this.name = name;
    this.#program = program;
  }

  /** Makes an empty namespace; an older nft may crash on what a newer one wrote, so each has its own. */
  static async create(program = "nft"): Promise<NftNamespace> {
    const name = `nft-test-${Deno.pid}-${crypto.randomUUID().slice(0, 8)}`;
    await run(["ip", "netns", "add", name]);
    return new NftNamespace(name, program);
  }

  get path(): string {
    return `/run/netns/${this.name}`;
  }

  /** nf_tables of this namespace, by a socket in this thread. */
  open(): NetlinkNftables {
    return inNetworkNamespace(this.path, () => openNftablesInThread());
  }

  /** Makes a table that only one process may change: `nft -i`, until it is disposed. */
  own(table: string): Promise<TableOwner> {
    return ownTable(this.name, table);
  }

  /** Runs `nft` in here and returns what it printed. */
  nft(args: readonly string[], input?: string): Promise<string> {
    return run(["ip", "netns", "exec", this.name, this.#program, ...args], input);
  }

  /** `nft list ruleset`. */
  listing(): Promise<string> {
    return this.nft(["list", "ruleset"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run(["ip", "netns", "delete", this.name]);
  }
}

async function run([command, ...args]: readonly string[], input = ""): Promise<string> {
  const child = new Deno.Command(command, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const written = writer.write(new TextEncoder().encode(input)).then(() => writer.close())
    // The command may end without reading; its exit code tells.
    .catch(() => undefined);
  const { code, stdout, stderr } = await child.output();
  await written;
  if (code === 0) return new TextDecoder().decode(stdout);
  throw new Error(`${[command, ...args].join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
