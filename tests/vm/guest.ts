/** Boots a kernel in a virtual machine of its own, runs guest tests in it, and says how each ended. */
import type { ControlPlaneAccess } from "../controlplane/rig/control_plane.ts";
import { controlPlaneAddresses } from "../controlplane/rig/network.ts";
import type { Drive } from "./drive.ts";
import { type Verdict, verdictsOf } from "./verdict.ts";

/** The kernels that `scripts/vm-tools` provides. */
export const kernels = ["5.10", "6.1", "6.12", "newest"] as const;

export type KernelName = (typeof kernels)[number];

/** What a guest is to do. */
export interface GuestOptions {
  /** What `scripts/vm-tools` printed. */
  readonly tools: string;
  readonly drive: Drive;
  readonly kernel: KernelName;
  /** Paths of guest tests below the project's root. They run in this order, each in a process of its own. */
  readonly tests: readonly string[];
  /** A guest that takes longer hangs. */
  readonly limitSeconds: number;
  /**
   * A control plane that runs outside. QEMU then runs in its namespace, and the guest finds it by the
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
    const argv = [`${options.tools}/qemu`, ...qemuArguments(options, { nonce, console })];
    if (options.plane !== undefined) {
      argv.push(...await planeArguments(options.plane, folder));
      argv.unshift("ip", "netns", "exec", options.plane.namespace);
    }
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

function qemuArguments(
  options: GuestOptions,
  own: { readonly nonce: string; readonly console: string },
): readonly string[] {
  const kernel = `${options.tools}/${options.kernel}`;
  const told = [`guest.nonce=${own.nonce}`, `guest.tests=${options.tests.join(",")}`];
  if (Deno.env.has("KUBE_PROXY_TEST_FULL")) told.push("guest.full=1");
  return [
    ...["-accel", "tcg,thread=multi", "-machine", "pc", "-cpu", "max", "-smp", "2"],
    ...["-m", `${MEMORY_MB}`, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ...["-serial", `file:${own.console}`],
    ...["-drive", `file=${options.drive.path},format=raw,if=virtio,readonly=on`],
    ...["-kernel", `${kernel}/vmlinuz`, "-initrd", `${kernel}/initrd`],
    ...["-append", [...kernelArguments, ...told].join(" ")],
  ];
}

/** A link to what listens on the loopback of QEMU's namespace, and a second drive that says what is there. */
async function planeArguments(
  plane: ControlPlaneAccess,
  folder: string,
): Promise<readonly string[]> {
  const path = `${folder}/plane`;
  const text = JSON.stringify(plane);
  // QEMU reads whole sectors.
  await Deno.writeTextFile(path, text.padEnd(Math.ceil(text.length / 512) * 512, "\0"));
  const host = controlPlaneAddresses.IPv4;
  return [
    ...["-drive", `file=${path},format=raw,if=virtio,readonly=on`],
    ...["-netdev", `user,id=control,ipv6=off,net=192.168.0.0/16,host=${host}`],
    ...["-device", "virtio-net-pci,netdev=control,romfile="],
  ];
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
      throw new Error(`Cannot run QEMU: exit code ${code}: ${new TextDecoder().decode(stderr)}`);
    }
    return stopped;
  } finally {
    clearTimeout(limit);
  }
}
