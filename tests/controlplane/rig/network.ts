/**
 * A network namespace for a control plane, with a bridge that node namespaces are joined to by veth.
 *
 * Namespaces and their folders are named after the process that owns them, so that the next run
 * removes what a killed one left behind. Nothing here touches the root namespace's own network.
 */
import { removeProxyRecord } from "../../kernel/rig/proxy_record.ts";

const prefix = "kpcp";
const bridge = "br0";

/** What the control plane answers on; see the address plan in tests/scenarios/addresses.ts. */
export const controlPlaneAddresses = { IPv4: "192.168.0.1", IPv6: "fd00:192:168::1" } as const;

/** A namespace of this process's own; disposing removes it with everything that runs in it. */
export class ControlPlaneNetwork implements AsyncDisposable {
  readonly namespace: string;
  /** For files of what runs here; removed with the namespace. */
  readonly folder: string;

  private constructor(namespace: string) {
    this.namespace = namespace;
    this.folder = folderOf(namespace);
  }

  static async create(): Promise<ControlPlaneNetwork> {
    await removeAbandoned();
    const suffix = crypto.getRandomValues(new Uint8Array(3)).toHex();
    const network = new ControlPlaneNetwork(`${prefix}-${Deno.pid}-${suffix}`);
    await ip(["netns", "add", network.namespace]);
    await Deno.mkdir(network.folder, { mode: 0o700 });
    const inside = (...args: string[]) => ip(["-n", network.namespace, ...args]);
    await inside("link", "set", "lo", "up");
    await inside("link", "add", bridge, "type", "bridge");
    await inside("link", "set", bridge, "up");
    await inside("address", "add", `${controlPlaneAddresses.IPv4}/16`, "dev", bridge);
    await inside("address", "add", `${controlPlaneAddresses.IPv6}/48`, "dev", bridge, "nodad");
    return network;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await remove(this.namespace);
  }
}

export interface JoinOptions {
  /** The node's namespace, which must exist. */
  readonly node: string;
  /** Number of the node, from 2: gives 192.168.0.N and fd00:192:168::N. */
  readonly index: number;
  /** Interface name inside the node's namespace. */
  readonly device?: string;
}

/** Connects a node's namespace to the control plane's bridge and gives it its addresses. */
export async function joinNode(controlPlane: string, options: JoinOptions): Promise<void> {
  const { node, index, device = "eth0" } = options;
  const port = `n${index}`;
  const peer = ["peer", "name", device, "netns", node];
  await ip(["-n", controlPlane, "link", "add", port, "type", "veth", ...peer]);
  await ip(["-n", controlPlane, "link", "set", port, "master", bridge, "up"]);
  await ip(["-n", node, "link", "set", "lo", "up"]);
  await ip(["-n", node, "link", "set", device, "up"]);
  await ip(["-n", node, "address", "add", `192.168.0.${index}/16`, "dev", device]);
  const ipv6 = `fd00:192:168::${index.toString(16)}/48`;
  await ip(["-n", node, "address", "add", ipv6, "dev", device, "nodad"]);
}

/** A link on the control plane's bridge for a virtual machine, which opens it by the name returned. */
export async function addGuestLink(controlPlane: string): Promise<string> {
  const device = "guest";
  await ip(["-n", controlPlane, "tuntap", "add", "dev", device, "mode", "tap"]);
  await ip(["-n", controlPlane, "link", "set", device, "master", bridge, "up"]);
  return device;
}

/**
 * Moves the calling thread into the namespace: its connections, and the processes that it starts,
 * are there from now on. A test module has a thread of its own, so no other test is moved.
 */
export function enterNamespace(name: string): void {
  const libc = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    setns: { parameters: ["i32", "i32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  });
  try {
    const path = new TextEncoder().encode(`/run/netns/${name}\0`);
    const descriptor = libc.symbols.open(path, 0);
    if (descriptor < 0) throw new Error(`Cannot enter namespace "${name}": it does not exist`);
    const cloneNewNet = 0x40000000;
    const result = libc.symbols.setns(descriptor, cloneNewNet);
    libc.symbols.close(descriptor);
    if (result !== 0) {
      throw new Error(`Cannot enter namespace "${name}": setns failed; run as root`);
    }
  } finally {
    libc.close();
  }
}

async function removeAbandoned(): Promise<void> {
  for (const name of namespaceNames()) {
    const owner = name.match(/^kpcp-(\d+)-/)?.[1];
    if (owner && !exists(`/proc/${owner}`)) await remove(name);
  }
}

async function remove(name: string): Promise<void> {
  const pids = new TextDecoder().decode((await run(["netns", "pids", name])).stdout);
  for (const pid of pids.split("\n").filter(Boolean).map(Number)) {
    // The owner may have entered the namespace itself.
    if (pid !== Deno.pid) kill(pid);
  }
  await removeProxyRecord(name);
  await run(["netns", "delete", name]);
  await Deno.remove(folderOf(name), { recursive: true }).catch(() => {});
}

function folderOf(namespace: string): string {
  return `${Deno.env.get("TMPDIR") ?? "/tmp"}/${namespace}`;
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

function namespaceNames(): readonly string[] {
  if (!exists("/run/netns")) return [];
  return [...Deno.readDirSync("/run/netns")].map((entry) => entry.name).sort();
}

async function ip(args: readonly string[]): Promise<void> {
  const { success, stderr } = await run(args);
  if (success) return;
  const cause = new TextDecoder().decode(stderr).trim();
  throw new Error(`Cannot run "ip ${args.join(" ")}": ${cause}; run as root with iproute2`);
}

function run(args: readonly string[]): Promise<Deno.CommandOutput> {
  return new Deno.Command("ip", { args: [...args], stdout: "piped", stderr: "piped" }).output();
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
