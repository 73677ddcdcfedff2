/**
 * A start of nftables mode on a node of a large cluster, without and beside what iptables mode left of it
 * in either backend, in turns; and how long it takes to ask for leftovers, as `-v 2` logs it.
 *   scripts/bench start_beside [--services=10000] [--endpoints=10] [--rounds=5]
 */
import { parseArgs } from "node:util";
import { ourProgramArgv } from "../kernel/rig/our_program.ts";
import { runCommand, tryCommand } from "../kernel/rig/command.ts";
import { XtNamespace } from "../kernel/xtables/namespace.ts";
import { oldCluster } from "./old_cluster.ts";
import { formatMs, formatRatio, formatTable, percentile, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "10000" },
    endpoints: { type: "string", default: "10" },
    rounds: { type: "string", default: "5" },
  },
});
const [services, endpoints, rounds] = [values.services, values.endpoints, values.rounds].map(
  Number,
);

/** The kernel is busy with freeing what was removed for so long. */
const PAUSE_MS = 1_500;

interface Start {
  readonly seconds: number;
  readonly askingMs: number;
}

const surroundings = [
  { title: "nothing", backend: undefined },
  { title: "iptables' rules in nft", backend: "nft" },
  { title: "iptables' rules in legacy", backend: "legacy" },
] as const;

function runArgv(folder: string, ...mode: readonly string[]): readonly string[] {
  return [
    ...ourProgramArgv(),
    "run",
    `--manifests=${folder}`,
    "--once",
    "-v=2",
    "--conntrack-max-per-core=0",
    "--conntrack-tcp-timeout-established=0",
    "--conntrack-tcp-timeout-close-wait=0",
    ...mode,
  ];
}

/** From the call of the program to its end after the first sync. */
async function start(namespace: XtNamespace, folder: string): Promise<Start> {
  const argv = ["ip", "netns", "exec", namespace.name];
  const startedAt = performance.now();
  const { code, stderr } = await tryCommand([...argv, ...runArgv(folder, "--proxy-mode=nftables")]);
  const seconds = (performance.now() - startedAt) / 1000;
  const asking = /Looked for rules that another proxy mode left" milliseconds=(\d+)/.exec(stderr);
  if (code !== 0 || !asking) throw new Error(`Cannot measure a start:\n${stderr}`);
  await namespace.run(["nft", "delete", "table", "ip", "kube-proxy"]);
  await namespace.run(["nft", "delete", "table", "ip6", "kube-proxy"]);
  // The kernel frees what was removed for a while.
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return { seconds, askingMs: Number(asking[1]) };
}

const folder = await Deno.makeTempDir({ prefix: "kpt-bench-" });
const namespaces: XtNamespace[] = [];
try {
  await Deno.writeTextFile(`${folder}/cluster.json`, oldCluster({ services, endpoints }));
  const starts = new Map<string, Start[]>();
  for (const { backend, title } of surroundings) {
    const namespace = await XtNamespace.create();
    namespaces.push(namespace);
    starts.set(title, []);
    await runCommand(["ip", "-n", namespace.name, "link", "set", "lo", "up"]);
    for (const address of ["192.168.0.2/24", "fd00:192:168::2/64"]) {
      await runCommand(["ip", "-n", namespace.name, "addr", "add", address, "dev", "lo"]);
    }
    if (backend === undefined) continue;
    const mode = ["--proxy-mode=iptables", `--iptables-backend=${backend}`];
    await namespace.run(runArgv(folder, ...mode));
  }
  for (let round = 0; round < rounds; round++) {
    for (const [index, { title }] of surroundings.entries()) {
      starts.get(title)?.push(await start(namespaces[index], folder));
    }
  }
  const median = (title: string, read: (start: Start) => number) =>
    percentile((starts.get(title) ?? []).map(read), 0.5);
  const [alone] = surroundings;
  const right = true;
  print(`## ${services} Services x ${endpoints}, medians of ${rounds} starts\n`);
  print(formatTable(
    [
      { title: "beside" },
      { title: "start, ms", right },
      { title: "ratio", right },
      { title: "promised", right },
      { title: "asking, ms", right },
      { title: "promised", right },
    ],
    surroundings.map(({ title }) => {
      const [ms, base] = [title, alone.title].map((each) => median(each, (s) => s.seconds * 1000));
      const isAlone = title === alone.title;
      return [
        title,
        formatMs(ms),
        formatRatio(ms / base),
        isAlone ? "" : "≤ 1.1",
        formatMs(median(title, ({ askingMs }) => askingMs)),
        isAlone ? "≤ 3" : "",
      ];
    }),
  ));
} finally {
  for (const namespace of namespaces) await namespace[Symbol.asyncDispose]();
  await Deno.remove(folder, { recursive: true });
}
