/**
 * The whole program as `kube-proxy run` puts it together, from the command line to the exit code, on a
 * kernel in memory. Objects come from files or from a fake apiserver.
 */
import type { Clock } from "../../../lib/base/clock.ts";
import { systemClock } from "../../../lib/base/clock.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeLoadedModules } from "../../../lib/kernel/fake_loaded_modules.ts";
import { fakeAddress, FakeLinks } from "../../../lib/kernel/links/fake_links.ts";
import type { AskPage } from "../../../lib/health/ask_page.ts";
import { createCleanupCommand } from "../../../cmd/cleanup.ts";
import { createDoctorCommand } from "../../../cmd/doctor.ts";
import { commandTree } from "../../../cmd/commands.ts";
import { dispatch } from "../../../cmd/dispatch.ts";
import { runProxy } from "../../../cmd/run/run_proxy.ts";
import { runCommand } from "../../../cmd/run_command.ts";
import { FakeApiserver } from "../../fakes/apiserver.ts";
import { ownLoopbackAddress } from "../../fakes/own_loopback_address.ts";

/** Whoever waits for something waits no longer than this. */
const deadlineMs = 10_000;

export const nodeName = "node-a";

export interface ProxyRunOptions {
  /** Behind `run`; what a test does not care about is switched off. */
  readonly args?: readonly string[];
  /** The whole command line instead, of whichever command. */
  readonly commandLine?: readonly string[];
  readonly stdin?: string;
  readonly kernel?: FakeKernel;
  readonly clock?: Clock;
  /** Where the pages are; one of this run alone when absent. */
  readonly address?: string;
  /** Where the record is, of `run` and `cleanup`; none is kept when absent. */
  readonly recordFolder?: string;
}

const quietArgs = [
  "--proxy-mode=nftables",
  "--conntrack-max-per-core=0",
  "--conntrack-tcp-timeout-established=0",
  "--conntrack-tcp-timeout-close-wait=0",
];

/** A running proxy. Disposing stops it and waits for its end. */
export class ProxyRun implements AsyncDisposable {
  readonly kernel: FakeKernel;
  /** Resolves when the program would end. */
  readonly exitCode: Promise<number>;
  stdout = "";
  stderr = "";
  /** Of this run alone; healthz is on port 10256 and metrics on port 10249 of it. */
  readonly address: string;
  readonly #stop = new AbortController();

  constructor(options: ProxyRunOptions) {
    const { args = [], kernel = nodeKernel(), clock = systemClock } = options;
    this.kernel = kernel;
    this.address = options.address ?? ownLoopbackAddress();
    const { recordFolder } = options;
    const recorded = recordFolder === undefined ? {} : { recordFolder };
    const machine = { kernel, clock, hostName: nodeName, ...recorded };
    const run = runCommand((options, context) => runProxy(options, context, machine));
    const ask: AskPage = () => Promise.resolve({ kind: "nobody" });
    const cleanup = createCleanupCommand({ ask, openKernel: () => kernel, ...recorded });
    const doctor = createDoctorCommand({
      ...{ ask, clock, hostName: nodeName, modules: new FakeLoadedModules() },
      openKernel: () => kernel,
      rehearse: () => Promise.resolve({ kind: "failed", because: "a kernel in memory has no tun" }),
    });
    const commands = new Map([["run", run], ["cleanup", cleanup], ["doctor", doctor]]);
    const entries = commandTree.entries.map((entry) => {
      const command = commands.get(entry.words[0]);
      return command ? { ...entry, load: () => Promise.resolve(command) } : entry;
    });
    const servers = [
      `--healthz-bind-address=${this.address}:10256`,
      `--metrics-bind-address=${this.address}:10249`,
    ];
    const line = options.commandLine ?? ["run", ...quietArgs, ...servers, ...args];
    this.exitCode = dispatch(line, { ...commandTree, entries }, {
      stdin: { readable: new Blob([options.stdin ?? ""]).stream(), isTerminal: false },
      stdout: { write: (text) => void (this.stdout += text), isTerminal: false },
      stderr: { write: (text) => void (this.stderr += text), isTerminal: false },
      pid: 4321,
      env: () => undefined,
      signal: this.#stop.signal,
    });
  }

  /** The lines of the log that are no mere information. */
  get complaints(): readonly string[] {
    return this.stderr.split("\n").filter((line) => /^[EWF]/.test(line));
  }

  /** SIGTERM. */
  stop(): void {
    this.#stop.abort();
  }

  /** Stops it; the exit code, in time. */
  async end(): Promise<number> {
    this.stop();
    return await this.ended();
  }

  /** The exit code, in time. */
  async ended(): Promise<number> {
    let code: number | undefined;
    void this.exitCode.then((exitCode) => code = exitCode);
    await this.until("the end", () => code !== undefined);
    return await this.exitCode;
  }

  /** Resolves when the log holds the text. */
  async said(text: string): Promise<void> {
    await this.until(text, () => this.stderr.includes(text));
  }

  /** Resolves when the condition holds; fails with the log when it does not in time. */
  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + deadlineMs;
    while (!await condition()) {
      if (performance.now() > deadline) {
        throw new Error(`Not in ${deadlineMs} ms: ${what}\n${this.stderr}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** The cluster IPs that are in the kernel now, of both families. */
  async clusterIPs(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const family of ["ip", "ip6"] as const) {
      const table = { family, name: "kube-proxy" } as const;
      const listing = await this.kernel.tables.listTable(table);
      const set = listing?.sets.find(({ name }) => name === "cluster-ips");
      const elements = set ? await this.kernel.tables.listElements(table, set) : [];
      found.push(...elements.map(({ key }) => String(key)));
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** A kernel with one interface that has an address of each family. */
export function nodeKernel(parts: ConstructorParameters<typeof FakeKernel>[0] = {}): FakeKernel {
  const addresses = [
    fakeAddress("192.168.0.2"),
    fakeAddress("fd00:192:168::2"),
    fakeAddress("127.0.0.1", { linkIndex: 1, linkName: "lo", scope: "host" }),
  ];
  return new FakeKernel({ links: new FakeLinks({ addresses }), ...parts });
}

/** A Service as files and the apiserver hold it. */
export function serviceObject(name: string, clusterIP: string, spec: object = {}) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "shop" },
    spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, protocol: "TCP" }], ...spec },
  };
}

/** A slice of the Service with one ready endpoint. */
export function sliceObject(service: string, address: string) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${service}-1`,
      namespace: "shop",
      labels: { "kubernetes.io/service-name": service },
    },
    addressType: address.includes(":") ? "IPv6" : "IPv4",
    ports: [{ name: "", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: [address], nodeName, conditions: { ready: true } }],
  };
}

/** The own Node. */
export function nodeObject(address = "192.168.0.2", rest: { readonly spec?: object } = {}) {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: nodeName },
    status: { addresses: [{ type: "InternalIP", address }] },
    ...rest,
  };
}

/** Writes objects as manifests, one file each. */
export async function writeManifests(
  folder: string,
  objects: readonly { readonly kind: string; readonly metadata: { readonly name: string } }[],
): Promise<void> {
  for (const object of objects) {
    const name = `${object.kind}-${object.metadata.name}.json`.toLowerCase();
    await Deno.writeTextFile(`${folder}/${name}`, JSON.stringify(object));
  }
}

/** A proxy of files in a folder of its own: one Service with an endpoint, where nothing else is said. */
export async function withManifests(
  options: ProxyRunOptions,
  body: (run: ProxyRun, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kpt-run-" });
  try {
    await writeManifests(folder, [
      serviceObject("web", "172.30.0.10"),
      sliceObject("web", "10.128.0.1"),
    ]);
    const args = [`--manifests=${folder}`, ...options.args ?? []];
    await using run = new ProxyRun({ ...options, args });
    await body(run, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

export interface ApiserverRig {
  readonly apiserver: FakeApiserver;
  /** For files of the test; the kubeconfig is in it. */
  readonly folder: string;
  /** Starts a proxy that is stopped at the end of the test. */
  run(options?: ProxyRunOptions): ProxyRun;
}

/** An apiserver that knows one Service, its slice and the node. */
export async function withApiserver(body: (rig: ApiserverRig) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kpt-run-" });
  const apiserver = await FakeApiserver.start();
  const runs: ProxyRun[] = [];
  try {
    apiserver.put("nodes", nodeObject());
    apiserver.put("services", serviceObject("web", "172.30.0.10"));
    apiserver.put("endpointslices", sliceObject("web", "10.128.0.1"));
    const kubeconfig = `${folder}/kubeconfig`;
    await Deno.writeTextFile(kubeconfig, kubeconfigFor(apiserver));
    const run = (options: ProxyRunOptions = {}) => {
      const args = [`--kubeconfig=${kubeconfig}`, ...options.args ?? []];
      const started = new ProxyRun({ ...options, args });
      runs.push(started);
      return started;
    };
    await body({ apiserver, folder, run });
  } finally {
    for (const run of runs) await run[Symbol.asyncDispose]();
    await apiserver[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
}

export function kubeconfigFor(
  { authority, url }: Pick<FakeApiserver, "authority" | "url">,
): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "fake",
      cluster: { server: url, "certificate-authority-data": btoa(authority.certificate) },
    }],
    users: [{ name: "proxy", user: { token: "secret" } }],
    contexts: [{ name: "fake", context: { cluster: "fake", user: "proxy" } }],
    "current-context": "fake",
  });
}
