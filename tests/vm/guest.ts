/** Boots a kernel in a virtual machine of its own, runs guest tests in it, and says how each ended. */
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
}

/** Deno with a rig of eight namespaces needs a third of it. */
const MEMORY_MB = 1536;

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
    const argv = qemuArguments(options, { nonce, console });
    const stopped = await runFor(options.limitSeconds, [`${options.tools}/qemu`, ...argv]);
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
  return [
    ...["-accel", "tcg,thread=multi", "-machine", "pc", "-cpu", "max", "-smp", "2"],
    ...["-m", `${MEMORY_MB}`, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ...["-serial", `file:${own.console}`],
    ...["-drive", `file=${options.drive.path},format=raw,if=virtio,readonly=on`],
    ...["-kernel", `${kernel}/vmlinuz`, "-initrd", `${kernel}/initrd`],
    ...["-append", [...kernelArguments, ...told].join(" ")],
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
