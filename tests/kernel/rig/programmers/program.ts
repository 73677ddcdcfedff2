/** The program itself, `kube-proxy run --manifests FOLDER`, as a process in the node's namespace. */
import { podCIDRs } from "../../../scenarios/addresses.ts";
import type { Manifest } from "../../../scenarios/manifests.ts";
import type { Setup } from "../../../scenarios/setups.ts";
import type { Cluster } from "../cluster.ts";
import { TextLineStream } from "../lines.ts";
import { ourProgramArgv } from "../our_program.ts";
import { patience } from "../patience.ts";
import type { Programmer, RunningProxy } from "../programmer.ts";

const START_DEADLINE_MS = 30_000 * patience;
const SAID_DEADLINE_MS = 70_000 * patience;
const LAST_LINES = 20;

/** Where the objects are, whoever runs with them: outlives a killed proxy. */
export class ManifestFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(manifests: readonly Manifest[]): Promise<ManifestFolder> {
    const folder = new ManifestFolder(await Deno.makeTempDir({ prefix: "kpt-manifests-" }));
    await folder.write(manifests);
    return folder;
  }

  /** One file an object; each appears at once and whole. */
  async write(manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) {
      const partial = `${this.path}/.${crypto.randomUUID()}`;
      await Deno.writeTextFile(partial, JSON.stringify(manifest));
      await Deno.rename(partial, this.#fileOf(manifest));
    }
  }

  async remove(manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) await Deno.remove(this.#fileOf(manifest));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }

  #fileOf({ kind, metadata }: Manifest): string {
    return `${this.path}/${kind.toLowerCase()}-${metadata.name}.json`;
  }
}

export class ProgramProgrammer implements Programmer {
  readonly name = "kube-proxy run --manifests";

  async start(
    cluster: Cluster,
    options: { readonly manifests: readonly Manifest[]; readonly setup: Setup },
  ): Promise<RunningProxy> {
    const folder = await ManifestFolder.create(options.manifests);
    const proxy = await ProgramProcess.start(cluster, { folder, setup: options.setup });
    return {
      apply: (manifests) => folder.write(manifests),
      remove: (manifests) => folder.remove(manifests),
      [Symbol.asyncDispose]: async () => {
        await proxy[Symbol.asyncDispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  }
}

/** One process. Its rules stay when it ends. */
export class ProgramProcess implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #inSync = Promise.withResolvers<void>();
  readonly #reading: Promise<void>;
  readonly #lines: string[] = [];

  /** Does not wait for anything. */
  constructor(
    cluster: Cluster,
    { folder, setup }: { readonly folder: ManifestFolder; readonly setup: Setup },
  ) {
    const [program, ...args] = cluster.inside("node", runArgv(folder, setup));
    this.#process = new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#reading = this.#read();
    // Whoever kills it before does not want to hear of that.
    this.#inSync.promise.catch(() => {});
  }

  /** Resolves when the program says that every Service works. */
  static async start(
    cluster: Cluster,
    options: { readonly folder: ManifestFolder; readonly setup: Setup },
  ): Promise<ProgramProcess> {
    const proxy = new ProgramProcess(cluster, options);
    await proxy.inSync();
    return proxy;
  }

  async inSync(): Promise<void> {
    const timer = setTimeout(() => {
      this.#inSync.reject(new Error(`Cannot wait for the first sync:\n${this.log()}`));
    }, START_DEADLINE_MS);
    try {
      await this.#inSync.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when it said so; the program looks once a minute where nothing moves but the older tables. */
  async said(text: string): Promise<void> {
    const deadline = performance.now() + SAID_DEADLINE_MS;
    while (!this.#lines.some((line) => line.includes(text))) {
      if (performance.now() > deadline) {
        throw new Error(`It did not say "${text}":\n${this.log()}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** What it said last. */
  log(): string {
    return this.#lines.slice(-LAST_LINES).join("\n");
  }

  /** Ends it; one that has ended is fine. Resolves to its exit code. */
  async end(signal: Deno.Signal): Promise<number> {
    try {
      this.#process.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    const { code } = await this.#process.status;
    await this.#reading;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGTERM");
  }

  async #read(): Promise<void> {
    for await (const line of this.#process.stderr.pipeThrough(new TextLineStream())) {
      this.#lines.push(line);
      if (line.includes('"In sync"')) this.#inSync.resolve();
    }
    this.#inSync.reject(new Error(`Cannot wait for the first sync: it ended:\n${this.log()}`));
  }
}

/** The whole command line; more flags may follow. */
export function runArgv(folder: ManifestFolder, setup: Setup): string[] {
  const { mode } = setup;
  return [
    ...ourProgramArgv(),
    "run",
    `--manifests=${folder.path}`,
    "--hostname-override=node",
    `--proxy-mode=${mode.kind}`,
    ...mode.kind === "iptables" ? [`--iptables-backend=${mode.backend}`] : [],
    `--nodeport-addresses=${setup.nodePortAddresses === "all" ? "0.0.0.0/0,::/0" : "primary"}`,
    `--masquerade-all=${setup.masqueradeAll}`,
    "--conntrack-max-per-core=0",
    "--conntrack-min=0",
    "--conntrack-tcp-timeout-established=0",
    "--conntrack-tcp-timeout-close-wait=0",
    ...setup.detectLocal === "none"
      ? []
      : ["--detect-local-mode=ClusterCIDR", `--cluster-cidr=${Object.values(podCIDRs).join()}`],
  ];
}
