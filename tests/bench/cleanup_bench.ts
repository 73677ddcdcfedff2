/**
 * Removing what iptables mode left of a large cluster: found, removed and read again, by `cleanup` and beside
 * it by upstream's `--cleanup`, each over rules that our own proxy wrote.
 *   scripts/bench cleanup [--services=10000] [--endpoints=10] [--backends=nft,legacy] [--ours-alone]
 *                         [--longest-seconds=80]
 */
import { parseArgs } from "node:util";
import {
  ourProgram,
  type ProxyProgram,
  upstreamProgram,
} from "../controlplane/rig/proxy_process.ts";
import { runCommand } from "../kernel/rig/command.ts";
import { XtNamespace } from "../kernel/xtables/namespace.ts";
import { oldCluster } from "./old_cluster.ts";
import { formatTable, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "10000" },
    endpoints: { type: "string", default: "10" },
    backends: { type: "string", default: "nft,legacy" },
    // Upstream takes minutes for a large cluster in the nft backend.
    "ours-alone": { type: "boolean", default: false },
    // Whoever takes longer is ended, and what is left is counted then.
    "longest-seconds": { type: "string", default: "80" },
  },
});
const services = Number(values.services);
const endpoints = Number(values.endpoints);
const backends = values.backends.split(",");
/** How often the process is asked for its peak. */
const PEAK_EVERY_MS = 20;

interface Figures {
  readonly chains: number;
  readonly seconds: number;
  readonly peakMb: number;
  /** It ended by itself, and said that all went well. */
  readonly isDone: boolean;
  readonly left: number;
}

async function measure(program: ProxyProgram, backend: string, folder: string): Promise<Figures> {
  await using namespace = await XtNamespace.create();
  const { name } = namespace;
  await runCommand(["ip", "-n", name, "link", "set", "lo", "up"]);
  await runCommand(["ip", "-n", name, "addr", "add", "192.168.0.2/24", "dev", "lo"]);
  await namespace.run([
    ...ourProgram().argv,
    "run",
    `--manifests=${folder}`,
    "--once",
    "--proxy-mode=iptables",
    `--iptables-backend=${backend}`,
    "--conntrack-max-per-core=0",
    "--conntrack-tcp-timeout-established=0",
    "--conntrack-tcp-timeout-close-wait=0",
  ]);
  const chains = await chainsIn(namespace, backend);
  // The names that upstream's program runs mean the engine that holds the rules.
  const tools = `${folder}/${backend}`;
  const args = program.name === "ours" ? ["cleanup", "--mode=iptables"] : ["--cleanup"];
  const startedAt = performance.now();
  const process = new Deno.Command("ip", {
    args: ["netns", "exec", name, ...program.argv, ...args],
    env: { PATH: `${tools}:${Deno.env.get("PATH")}` },
    stdout: "null",
    stderr: "null",
  }).spawn();
  let peakMb = 0;
  const timer = setInterval(() => peakMb = Math.max(peakMb, peakOf(process.pid)), PEAK_EVERY_MS);
  const limit = setTimeout(() => process.kill("SIGTERM"), Number(values["longest-seconds"]) * 1000);
  const { code, signal } = await process.status;
  clearTimeout(limit);
  const seconds = (performance.now() - startedAt) / 1000;
  clearInterval(timer);
  return {
    chains,
    seconds,
    peakMb,
    isDone: code === 0 && signal === null,
    left: await chainsIn(namespace, backend),
  };
}

/** The kernel keeps the peak; a process that has ended has none. */
function peakOf(pid: number): number {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    return Number(/^VmHWM:\s*(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function chainsIn(namespace: XtNamespace, backend: string): Promise<number> {
  const saved = await namespace.run([`iptables-${backend}-save`, "-t", "nat"]);
  return saved.match(/^:KUBE-/gm)?.length ?? 0;
}

async function linkTools(folder: string): Promise<void> {
  const path = Deno.env.get("PATH") ?? "";
  for (const backend of backends) {
    await Deno.mkdir(`${folder}/${backend}`);
    for (const tool of ["iptables", "ip6tables"]) {
      for (const what of ["", "-save", "-restore"]) {
        const real =
          (await runCommand(["sh", "-c", `PATH=${path} command -v ${tool}-${backend}${what}`]))
            .trim();
        await Deno.symlink(real, `${folder}/${backend}/${tool}${what}`);
      }
    }
  }
}

const folder = await Deno.makeTempDir({ prefix: "kpt-bench-" });
try {
  await Deno.writeTextFile(`${folder}/cluster.json`, oldCluster({ services, endpoints }));
  await linkTools(folder);
  const upstream = values["ours-alone"] ? undefined : upstreamProgram();
  const rows: string[][] = [];
  for (const backend of backends) {
    let ours: Figures | undefined;
    for (const program of [ourProgram(), ...upstream ? [upstream] : []]) {
      const figures = await measure(program, backend, folder);
      const { chains, isDone, left, peakMb, seconds } = figures;
      const least = isDone ? "" : "> ";
      const ratio = ours ? `${least}${(seconds / ours.seconds).toFixed(1)} x` : "1";
      ours ??= figures;
      rows.push([
        backend,
        program.name,
        String(chains),
        `${least}${seconds.toFixed(2)}`,
        ratio,
        peakMb.toFixed(0),
        String(left),
      ]);
    }
  }
  const right = true;
  print(formatTable([
    { title: "backend" },
    { title: "program" },
    { title: "chains in nat", right },
    { title: "s", right },
    { title: "ratio", right },
    { title: "peak MB", right },
    { title: "chains left", right },
  ], rows));
  if (!upstream) {
    print("Ours alone: upstream's kube-proxy is not built here, or was not asked for.");
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
