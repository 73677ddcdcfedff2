/** The built binary as a process in the node's namespace. */
import type { Cluster } from "../kernel/rig/cluster.ts";

export interface ProxyOptions {
  readonly cluster: Cluster;
  readonly manifests: string;
}

export interface RunningDemoProxy extends AsyncDisposable {
  /** From the start of the process to the first answer of the last address. */
  readonly readyMs: number;
  /** Ends it by SIGTERM; resolves to the milliseconds that took. */
  stop(): Promise<number>;
}

const binary = new URL("../../dist/kube-proxy", import.meta.url).pathname;
const config = new URL("config.yaml", import.meta.url).pathname;
const readyDeadlineMs = 10_000;

/** Starts the proxy and waits until both families answer. */
export async function startProxy(
  { cluster, manifests }: ProxyOptions,
): Promise<RunningDemoProxy> {
  const [program, ...args] = cluster.inside("node", [
    binary,
    "run",
    "--manifests",
    manifests,
    "--config",
    config,
  ]);
  const started = performance.now();
  const process = new Deno.Command(program, { args, stdout: "inherit", stderr: "inherit" }).spawn();
  let ended = false;
  const status = process.status.finally(() => ended = true);
  const stop = async () => {
    const from = performance.now();
    if (!ended) process.kill("SIGTERM");
    await status;
    return Math.round(performance.now() - from);
  };
  try {
    for (const address of ["203.0.113.80", "2001:db8:113::80"]) {
      await untilAnswered(cluster, address, () => ended);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const readyMs = Math.round(performance.now() - started);
  return { readyMs, stop, [Symbol.asyncDispose]: async () => void await stop() };
}

async function untilAnswered(
  cluster: Cluster,
  address: string,
  ended: () => boolean,
): Promise<void> {
  const deadline = performance.now() + readyDeadlineMs;
  let last = "nothing yet";
  while (performance.now() < deadline && !ended()) {
    // Not from the client that is shown later: until the Service is there, each question leaves a flow
    // without a destination behind, and the same source port would meet it again for two minutes.
    const outcome = await cluster.agent.probe({
      namespace: cluster.namespace("client-b"),
      protocol: "TCP",
      address,
      port: 80,
      timeoutMs: 20,
    });
    if (outcome.kind === "reached") return;
    last = outcome.kind;
  }
  throw new Error(
    `Cannot show the proxy: ${address} did not answer in ${readyDeadlineMs} ms (${last})`,
  );
}
