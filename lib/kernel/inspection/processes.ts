/** Processes of the machine, as /proc shows them. */
import { KernelFiles } from "../kernel_files.ts";

/** One process. */
export interface MachineProcess {
  readonly pid: number;
  /** Its program and arguments; empty for the kernel's own threads. */
  readonly argv: readonly string[];
  /** `net:[4026531840]`; undefined where this process may not look. */
  readonly networkNamespace: string | undefined;
}

/** Every process. One that ends meanwhile is left out. Throws `SysctlError`. */
export function readProcesses(files: KernelFiles): readonly MachineProcess[] {
  const pids = (files.list("/proc") ?? []).filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.sort((a, b) => a - b).flatMap((pid) => {
    const line = unlessGone(() => files.read(`/proc/${pid}/cmdline`));
    if (line === undefined) return [];
    const argv = line.split("\0").filter((word) => word !== "");
    const networkNamespace = unlessGone(() => files.readLink(`/proc/${pid}/ns/net`));
    return [{ pid, argv, networkNamespace }];
  });
}

/** The network namespace of a process, or of this thread (`thread-self`), in the words of `networkNamespace`. */
export function networkNamespaceOf(
  files: KernelFiles,
  process: "1" | "thread-self",
): string | undefined {
  return unlessGone(() => files.readLink(`/proc/${process}/ns/net`));
}

/** The processes that have one of these sockets open, by the socket's inode. Those that we may not look into have none. */
export function socketOwners(
  files: KernelFiles,
  inodes: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const owners = new Map<string, number>();
  for (const name of files.list("/proc") ?? []) {
    if (!/^\d+$/.test(name)) continue;
    for (const fd of unlessGone(() => files.list(`/proc/${name}/fd`)) ?? []) {
      const target = unlessGone(() => files.readLink(`/proc/${name}/fd/${fd}`));
      const inode = /^socket:\[(\d+)\]$/.exec(target ?? "")?.[1];
      if (inode !== undefined && inodes.has(inode)) owners.set(inode, Number(name));
    }
  }
  return owners;
}

/** A process may end, or forbid the look, between two reads of its files. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // What cannot be seen of a process is not there for us.
    return undefined;
  }
}

/** The initial PID namespace has this number on every Linux (PROC_PID_INIT_INO). */
const INITIAL_PID_NAMESPACE = "pid:[4026531836]";

/**
 * Whether this thread is in the network namespace of the machine's first process. Undefined where that
 * cannot be seen: the first process of a container is not the machine's.
 */
export function isInNodeNetwork(files: KernelFiles): boolean | undefined {
  const here = new KernelFiles();
  const pids = unlessGone(() => files.readLink("/proc/1/ns/pid"));
  const node = networkNamespaceOf(files, "1");
  const own = networkNamespaceOf(here, "thread-self");
  if (pids !== INITIAL_PID_NAMESPACE || node === undefined || own === undefined) return undefined;
  return node === own;
}
