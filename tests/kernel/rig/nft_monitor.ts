/** Hears every committed change of nf_tables in the node's namespace, whoever made it. */
import type { Cluster } from "./cluster.ts";
import { TextLineStream } from "./lines.ts";

const DEADLINE_MS = 10_000;

/** `nft monitor` while it runs: a line for each change, and one for each new generation. */
export class NftMonitor implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #process: Deno.ChildProcess;
  readonly #lines: string[] = [];
  readonly #reading: Promise<void>;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
    const [program, ...args] = cluster.inside("node", ["stdbuf", "-oL", "nft", "monitor"]);
    this.#process = new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#reading = this.#read();
  }

  /** Resolves when changes are heard. */
  static async start(cluster: Cluster): Promise<NftMonitor> {
    const monitor = new NftMonitor(cluster);
    await monitor.#mark("start");
    return monitor;
  }

  /** All lines between start and now. */
  async stop(): Promise<readonly string[]> {
    await this.#mark("stop");
    const first = this.#lines.findLastIndex((line) => line.includes("kpt-mark-start"));
    const last = this.#lines.findIndex((line) => line.includes("kpt-mark-stop"));
    return this.#lines.slice(first + 1, last)
      // The generation of the start mark itself is told after it.
      .filter((line) => !(line.startsWith("# new generation") && line.includes("(nft)")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGTERM");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#process.status;
    await this.#reading;
  }

  /** A change of our own that the monitor tells: what came before it has been told. */
  async #mark(name: string): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    const script = `add table inet kpt-mark-${name}\ndelete table inet kpt-mark-${name}\n`;
    while (!this.#lines.some((line) => line.includes(`delete table inet kpt-mark-${name}`))) {
      if (Date.now() > deadline) throw new Error("Cannot hear nft monitor: it says nothing");
      await this.#cluster.run("node", ["nft", "-f", "-"], script);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #read(): Promise<void> {
    for await (const line of this.#process.stdout.pipeThrough(new TextLineStream())) {
      this.#lines.push(line);
    }
  }
}
