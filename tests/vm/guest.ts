/** Boots a kernel in a virtual machine of its own, runs guest tests in it, and says how each ended. */
import type { ControlPlaneAccess } from "../controlplane/rig/control_plane.ts";
import { addGuestLink, controlPlaneAddresses } from "../controlplane/rig/network.ts";
import type { Drive } from "./drive.ts";
import { type Verdict, verdictsOf } from "./verdict.ts";

/** The kernels that `scripts/vm-tools` provides for QEMU. */
export const kernels = ["5.10", "6.1", "6.12", "newest"] as const;

export type KernelName = (typeof kernels)[number];

/**
 * Linux as a program: it emulates no processor, so what needs no kernel runs at full speed there. It has
 * one processor, and neither IPv4 nor IPv6 in nf_tables.
 */
export const userMode = "user-mode" as const;

/** What a guest is to do. */
export interface GuestOptions {
  /** What `scripts/vm-tools` printed. */
  readonly tools: string;
  readonly drive: Drive;
  readonly kernel: KernelName | typeof userMode;
  /** Paths of guest tests below the project's root. They run in this order, each in a process of its own. */
  readonly tests: readonly string[];
  /** A guest that takes longer hangs. */
  readonly limitSeconds: number;
  /**
   * A control plane that runs outside. The guest then runs in its namespace, and finds it by the
   * address at which nodes find it elsewhere.
   */
  readonly plane?: ControlPlaneAccess;
}

/** Deno with a rig of eight namespaces and two proxies needs half of it. */
const MEMORY_MB = 2048;

/**
 * `/dev/kvm` hangs on machines that are guests themselves: always emulated. The rest spares time at
 * boot, or keeps a host's mitigations out of what is slow already.
 */
const kernelArguments = [
  "console=ttyS0",
  "quiet",
  "panic=-1",
  "mitigations=off",
  "nokaslr",
  "no_timer_check",
  "random.trust_cpu=on",
];

/** The folder that `scripts/vm-tools` provides; it fetches what is missing, and throws its words. */
export async function provideTools(): Promise<string> {
  const command = new Deno.Command("scripts/vm-tools", { stderr: "inherit" });
  const { success, stdout } = await command.output();
  if (!success) throw new Error("Cannot run virtual machines: scripts/vm-tools failed, see above");
  return new TextDecoder().decode(stdout).trim();
}

/** Runs the tests in one guest. It is gone when this resolves, whatever became of it. */
export async function runGuest(options: GuestOptions): Promise<ReadonlyMap<string, Verdict>> {
  const folder = await Deno.makeTempDir({ prefix: "kpt-guest-" });
  try {
    const nonce = `guest-${crypto.randomUUID()}`;
    const console = `${folder}/console`;
    const own = { nonce, console, planeFile: await planeFile(options.plane, folder) };
    const argv = options.kernel === userMode
      ? await userModeCommand(options, own)
      : [`${options.tools}/qemu`, ...qemuArguments(options, own)];
    // Never where this thread happens to be: a control plane ends whatever runs in its namespace.
    if (options.plane !== undefined) argv.unshift("ip", "netns", "exec", options.plane.namespace);
    else if (Deno.uid() === 0) argv.unshift("unshare", "--net");
    const stopped = await runFor(options.limitSeconds, argv);
    return verdictsOf({
      nonce,
      tests: options.tests,
      console: await Deno.readTextFile(console),
      ...(stopped ? { stoppedAfterSeconds: options.limitSeconds } : {}),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What one boot has for itself. */
interface Own {
  readonly nonce: string;
  /** The file that gets what the guest prints. */
  readonly console: string;
  /** Says how the control plane is reached. */
  readonly planeFile: string | undefined;
}

function qemuArguments(options: GuestOptions, own: Own): readonly string[] {
  const kernel = `${options.tools}/${options.kernel}`;
  return [
    ...["-accel", "tcg,thread=multi", "-machine", "pc", "-cpu", "max", "-smp", "2"],
    ...["-m", `${MEMORY_MB}`, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ...["-serial", `file:${own.console}`],
    ...["-drive", `file=${options.drive.path},format=raw,if=virtio,readonly=on`],
    ...["-kernel", `${kernel}/vmlinuz`, "-initrd", `${kernel}/initrd`],
    ...["-append", [...kernelArguments, ...toldGuest(options, own)].join(" ")],
    ...own.planeFile === undefined ? [] : planeArguments(own.planeFile),
  ];
}

/** A link to what listens on the loopback of QEMU's namespace, and a second drive that says what is there. */
function planeArguments(path: string): readonly string[] {
  const host = controlPlaneAddresses.IPv4;
  return [
    ...["-drive", `file=${path},format=raw,if=virtio,readonly=on`],
    ...["-netdev", `user,id=control,ipv6=off,net=192.168.0.0/16,host=${host}`],
    ...["-device", "virtio-net-pci,netdev=control,romfile="],
  ];
}

/** The same for User Mode Linux, which reaches a bridge. All of its processes end with the first. */
async function userModeCommand(options: GuestOptions, own: Own): Promise<string[]> {
  const kernel = `${options.tools}/${userMode}`;
  const args = [
    ...[`mem=${MEMORY_MB}M`, `initrd=${kernel}/initrd`, `ubd0r=${options.drive.path}`],
    ...["con=null", "ssl=null", "ssl0=null,fd:1", "console=ttyS0", "quiet", "panic=-1"],
    ...toldGuest(options, own),
  ];
  if (options.plane !== undefined) {
    const device = await addGuestLink(options.plane.namespace);
    // Without `gro` it loses what comes in large packets, and connections stand still for seconds.
    args.push(`ubd1r=${own.planeFile}`, `vec0:transport=tap,ifname=${device},depth=128,gro=1`);
  }
  const script = 'exec unshare --pid --fork --kill-child "$@" >"$0"';
  return ["bash", "-c", script, own.console, `${kernel}/vmlinuz`, ...args];
}

/** What `inside/start` reads from the kernel's command line. */
function toldGuest({ tests }: GuestOptions, { nonce }: Own): readonly string[] {
  const isFull = Deno.env.has("KUBE_PROXY_TEST_FULL");
  return [
    `guest.nonce=${nonce}`,
    `guest.tests=${tests.join(",")}`,
    ...isFull ? ["guest.full=1"] : [],
  ];
}

async function planeFile(
  plane: ControlPlaneAccess | undefined,
  folder: string,
): Promise<string | undefined> {
  if (plane === undefined) return undefined;
  const path = `${folder}/plane`;
  const text = JSON.stringify(plane);
  // Drives are read in whole sectors.
  await Deno.writeTextFile(path, text.padEnd(Math.ceil(text.length / 512) * 512, "\0"));
  return path;
}

/** Resolves to whether it had to be stopped; throws its words when it could not run. */
async function runFor(seconds: number, argv: readonly string[]): Promise<boolean> {
  const process = new Deno.Command(argv[0], {
    args: argv.slice(1),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let stopped = false;
  const limit = setTimeout(() => {
    stopped = true;
    process.kill("SIGKILL");
  }, seconds * 1000);
  try {
    const { code, stderr } = await process.output();
    if (!stopped && code !== 0) {
      throw new Error(`Cannot run a guest: exit code ${code}: ${new TextDecoder().decode(stderr)}`);
    }
    return stopped;
  } finally {
    clearTimeout(limit);
  }
}
