/** Makes the kernel refuse a proxy's rules for a while. */
import type { SmallCluster } from "./small_cluster.ts";

const TAKE_DEADLINE_MS = 15_000;

/** Owns our table, so that the kernel refuses whatever anybody else writes to it. */
export class TableOwner implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #released = false;

  private constructor(process: Deno.ChildProcess) {
    this.#process = process;
    this.#input = process.stdin.getWriter();
  }

  static async take(cluster: SmallCluster): Promise<TableOwner> {
    const owner = new TableOwner(
      new Deno.Command("ip", {
        args: ["netns", "exec", cluster.node, "nft", "-i"],
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      }).spawn(),
    );
    const table = "ip kube-proxy";
    const script =
      `add table ${table}; delete table ${table}; add table ${table} { flags owner; }\n`;
    await owner.#input.write(new TextEncoder().encode(script));
    await until(
      "the table with an owner",
      TAKE_DEADLINE_MS,
      async () => (await rules(cluster)).includes("flags owner"),
    );
    return owner;
  }

  /** The table goes with its owner. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    await this.#input.close();
    await this.#process.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/** The IPv4 table as `nft` lists it; empty when there is none. */
export function rules(cluster: SmallCluster): Promise<string> {
  return cluster.onNode(["nft", "list", "table", "ip", "kube-proxy"]).catch(() => "");
}

/** Asks until it is there, or throws when the time is up. */
export async function until(
  what: string,
  deadlineMs: number,
  isThere: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (Date.now() < deadline) {
    if (await isThere()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`Cannot see ${what} within ${deadlineMs} ms`);
}
