/** Programs the node by the program's own trackers and writer, without its command line. */
import type { Manifest } from "../../../scenarios/manifests.ts";
import type { Setup } from "../../../scenarios/setups.ts";
import type { Cluster } from "../cluster.ts";
import { TextLineStream } from "../lines.ts";
import type { Programmer, RunningProxy } from "../programmer.ts";
import type { ProxyAnswer, ProxyRequest } from "./node_proxy_protocol.ts";

/** Every call resolves when the kernel has it. */
export class InProcessProgrammer implements Programmer {
  readonly name = "trackers and writer";

  async start(
    cluster: Cluster,
    options: { readonly manifests: readonly Manifest[]; readonly setup: Setup },
  ): Promise<InProcessProxy> {
    const proxy = new InProcessProxy(cluster, options.setup);
    try {
      await proxy.apply(options.manifests);
      return proxy;
    } catch (error) {
      await proxy[Symbol.asyncDispose]();
      throw error;
    }
  }
}

export class InProcessProxy implements RunningProxy {
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #setup: Setup;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(cluster: Cluster, setup: Setup) {
    this.#setup = setup;
    const script = new URL("./node_proxy.ts", import.meta.url).pathname;
    const argv = cluster.inside("node", [Deno.execPath(), "run", "--quiet", "-A", "--no-check"]);
    this.#process = new Deno.Command(argv[0], {
      args: [...argv.slice(1), script],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#writer = this.#process.stdin.getWriter();
    this.#lines = this.#process.stdout.pipeThrough(new TextLineStream()).getReader();
  }

  async apply(manifests: readonly Manifest[]): Promise<void> {
    await this.change({ apply: manifests, remove: [] });
  }

  async remove(manifests: readonly Manifest[]): Promise<void> {
    await this.change({ apply: [], remove: manifests });
  }

  /** One sync for all of it; answers how many messages went to the kernel. Calls take turns. */
  change(change: Omit<ProxyRequest, "setup">): Promise<number> {
    const answer = this.#turn.then(() => this.#change(change));
    this.#turn = answer.catch(() => undefined);
    return answer;
  }

  async #change(change: Omit<ProxyRequest, "setup">): Promise<number> {
    const request: ProxyRequest = { setup: this.#setup, ...change };
    await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    const { value } = await this.#lines.read();
    if (value === undefined) throw new Error("Cannot change the node's rules: the proxy ended");
    const answer: ProxyAnswer = JSON.parse(value);
    if (answer.kind === "failed") throw new Error(answer.message);
    return answer.written;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => undefined);
    await this.#process.status;
    await this.#lines.cancel();
  }
}
