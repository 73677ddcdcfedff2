/**
 * What doctor takes without a rehearsal: on a quiet node, and on one with many connections, many rules of
 * others and many virtual servers. This machine's kernel may lack IPVS, so its lists are files below
 * another root, in which everything else is the machine's own.
 */
import { tryCommand } from "../kernel/rig/command.ts";
import { ourProgramArgv } from "../kernel/rig/our_program.ts";
import { type OwnNamespace, withOwnNamespace } from "../kernel/rig/own_namespace.ts";
import { formatMs, formatTable } from "./table.ts";

const many = { connections: 100_000, rules: 50_000, servers: 10_000 } as const;
const RUNS = 3;
const shop = new URL("../../examples/shop", import.meta.url).pathname;

interface Looked {
  readonly milliseconds: number;
  /** Checks that could not be told: a reader that was too late must not pass for a quick one. */
  readonly unknown: readonly string[];
}

/** The table, in Markdown. */
export async function measureLooking(): Promise<string> {
  const quiet = await withNode((node) => median(node));
  const full = await withNode(async (node) => {
    await addRules(node);
    await addConnections(node);
    await using root = await rootWithServers(node);
    return await median(node, root);
  });
  const rows = [["a quiet node", quiet, "≤ 2000"], [
    `${many.connections} connections, ${many.rules} rules of others, ${many.servers} virtual servers`,
    full,
    "≤ 5000",
  ]] as const;
  return formatTable(
    ["node", "whole run without a rehearsal, ms", "promised", "checks that could not be told"].map((
      title,
      i,
    ) => ({ title, right: i > 0 })),
    rows.map(([name, { milliseconds, unknown }, promise]) => [
      name,
      formatMs(milliseconds),
      promise,
      unknown.length === 0 ? "none" : unknown.join(", "),
    ]),
  );
}

async function withNode(measure: (node: OwnNamespace) => Promise<Looked>): Promise<Looked> {
  let looked: Looked | undefined;
  await withOwnNamespace(async (node) => {
    looked = await measure(node);
  });
  if (!looked) throw new Error("Cannot measure: nothing ran");
  return looked;
}

async function median(node: OwnNamespace, root?: HostRoot): Promise<Looked> {
  const runs: Looked[] = [];
  for (let run = 0; run < RUNS; run++) runs.push(await look(node, root));
  return runs.sort((a, b) => a.milliseconds - b.milliseconds)[Math.floor(RUNS / 2)];
}

async function look({ name }: OwnNamespace, root: HostRoot | undefined): Promise<Looked> {
  const startedAt = performance.now();
  const { stderr, stdout } = await tryCommand([
    ...[
      "ip",
      "netns",
      "exec",
      name,
      ...root?.enter ?? [],
      ...ourProgramArgv(),
      "doctor",
      "-o",
      "json",
    ],
    ...["--from=ipvs", "--manifests", shop, "--skip", "NET05,DRY01", ...root?.args ?? []],
  ]);
  const milliseconds = performance.now() - startedAt;
  if (stdout === "") throw new Error(`Cannot measure: ${stderr}`);
  const { checks }: { checks: readonly { id: string; result: string }[] } = JSON.parse(stdout);
  const unknown = checks.filter(({ result }) => result === "unknown").map(({ id }) => id);
  return { milliseconds, unknown };
}

async function feed({ name }: OwnNamespace, argv: readonly string[], input: string) {
  const { code, stderr } = await tryCommand(["ip", "netns", "exec", name, ...argv], input);
  if (code !== 0) throw new Error(`Cannot prepare the node by ${argv[0]}: ${stderr}`);
}

/** Fifty chains on the way of every packet from outside. */
async function addRules(node: OwnNamespace): Promise<void> {
  const chains = 50;
  const lines = ["table inet host {"];
  for (let chain = 0; chain < chains; chain++) {
    lines.push(`chain c${chain} {`);
    for (let rule = 0; rule < many.rules / chains; rule++) {
      lines.push(`ip saddr 10.${chain}.${rule >> 8}.${rule & 255} tcp dport ${1000 + rule} drop`);
    }
    lines.push("}");
  }
  const jumps = Array.from({ length: chains }, (_, chain) => `jump c${chain}`);
  lines.push("chain in { type filter hook input priority 0;", ...jumps, "}", "}");
  await feed(node, ["nft", "-f", "-"], `${lines.join("\n")}\n`);
}

async function addConnections(node: OwnNamespace): Promise<void> {
  const lines = Array.from(
    { length: many.connections },
    (_, i) =>
      `-I -s 10.1.${(i >> 8) & 255}.${i & 255} -d 10.9.${
        i >> 16
      }.1 -p tcp --sport 1000 --dport 80 ` +
      "--state ESTABLISHED -u SEEN_REPLY -t 3600\n",
  );
  await feed(
    node,
    ["sh", "-c", "cat > /dev/shm/$$; conntrack -R /dev/shm/$$; rm /dev/shm/$$"],
    lines.join(""),
  );
  const count = Number(await node.run("conntrack", "-C"));
  if (count < many.connections) throw new Error(`Cannot prepare the node: ${count} connections`);
}

/** This machine's root, but for /proc. */
interface HostRoot extends AsyncDisposable {
  /** What leads into the mounts. */
  readonly enter: readonly string[];
  readonly args: readonly string[];
}

/** A root whose first process is in the node's network, with IPVS in it. */
async function rootWithServers(node: OwnNamespace): Promise<HostRoot> {
  const path = await Deno.makeTempDir({ prefix: "kpt-root-" });
  const net = `${path}/proc/1/net`;
  await Deno.mkdir(`${path}/proc/1/ns`, { recursive: true });
  await Deno.mkdir(net);
  await Deno.mkdir(`${path}/root`);
  for (const { name } of Deno.readDirSync("/proc")) {
    if (name !== "1" && name !== "net") await Deno.symlink(`/proc/${name}`, `${path}/proc/${name}`);
  }
  const own = (await node.run("readlink", "/proc/self/ns/net")).trim();
  await Deno.symlink(own, `${path}/proc/1/ns/net`);
  // The number of the machine's first one, in every kernel.
  await Deno.symlink("pid:[4026531836]", `${path}/proc/1/ns/pid`);
  await Deno.writeTextFile(`${path}/proc/1/cmdline`, "init\0");
  for (const name of ["tcp", "tcp6", "udp", "udp6", "ip_tables_names", "ip6_tables_names"]) {
    await Deno.writeTextFile(`${net}/${name}`, await node.run("cat", `/proc/net/${name}`));
  }
  const hex = (number: number, digits: number) =>
    number.toString(16).toUpperCase().padStart(digits, "0");
  const servers = Array.from(
    { length: many.servers },
    (_, i) =>
      `TCP  0A60${
        hex(i, 4)
      }:0050 rr \n  -> 0A800002:1F90      Masq    1      10         0         \n`,
  );
  const head =
    "IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n" +
    "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n";
  await Deno.writeTextFile(`${net}/ip_vs`, head + servers.join(""));
  const connections = Array.from(
    { length: many.connections },
    (_, i) =>
      `TCP C0A8${hex(i & 0xffff, 4)} 1234 0A60${
        hex(i % many.servers, 4)
      } 0050 0A800002 1F90 ESTABLISHED     899\n`,
  );
  await Deno.writeTextFile(`${net}/ip_vs_conn`, `Pro FromIP\n${connections.join("")}`);
  const mounts =
    `mount --bind / ${path}/root; mount --bind ${path}/proc ${path}/root/proc; exec "$@"`;
  return {
    enter: ["unshare", "--mount", "sh", "-ec", mounts, "sh"],
    args: ["--host-root", `${path}/root`],
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}
