/**
 * Which modules the running kernel has, told without loading any: what is loaded, what was compiled in,
 * and what lies below /lib/modules.
 */
import type { KernelFiles } from "../kernel_files.ts";

/** `unknown`: neither the kernel nor a file that could be read says anything of it. */
export type ModuleState = "loaded" | "built-in" | "available" | "missing" | "unknown";

/** Names with underscores; undefined where there is no such list. */
export interface ModuleInventory {
  /** As `uname -r` prints it. */
  readonly release: string;
  /** Undefined where the kernel has no modules at all: then everything is compiled in or missing. */
  readonly loaded: ReadonlySet<string> | undefined;
  /** Of `modules.builtin`, and of /sys/module where there is no list of loaded ones. */
  readonly builtIn: ReadonlySet<string> | undefined;
  readonly available: ReadonlySet<string> | undefined;
  /** `CONFIG_NF_TABLES`: `y`, `m`; one that is not set is not in it. */
  readonly options: ReadonlyMap<string, string> | undefined;
}

/** Reads what there is. Throws `SysctlError` for a list that is there and cannot be read. */
export async function readModuleInventory(files: KernelFiles): Promise<ModuleInventory> {
  const release = files.read("/proc/sys/kernel/osrelease", "kernel/osrelease") ?? "";
  const folder = `/lib/modules/${release}`;
  const loaded = files.read("/proc/modules");
  const builtIn = files.read(`${folder}/modules.builtin`);
  const available = files.read(`${folder}/modules.dep`);
  const config = files.read(`/boot/config-${release}`) ??
    await files.readCompressed("/proc/config.gz");
  return {
    release,
    loaded: loaded === undefined ? undefined : new Set(firstWords(loaded)),
    builtIn: builtIn === undefined ? undefined : new Set(moduleNames(builtIn)),
    available: available === undefined ? undefined : new Set(moduleNames(available)),
    options: config === undefined ? undefined : new Map(optionsOf(config)),
  };
}

/** What is known of a module. */
export function moduleState(inventory: ModuleInventory, name: string): ModuleState {
  const { available, builtIn, loaded, options } = inventory;
  if (loaded?.has(name)) return "loaded";
  const option = options?.get(`CONFIG_${name.toUpperCase()}`);
  if (builtIn?.has(name) || option === "y") return "built-in";
  if (available?.has(name)) return "available";
  const isKnown = builtIn !== undefined && available !== undefined;
  if (isKnown) return "missing";
  // Without the files below /lib/modules nothing tells whether a module could be loaded.
  if (options !== undefined && option === undefined && hasOptionOfItsOwn(name)) return "missing";
  return "unknown";
}

/** These few are parts of others' options. */
function hasOptionOfItsOwn(name: string): boolean {
  return !["nft_chain_nat", "ip_vs_core"].includes(name);
}

/** `nft_numgen 16384 3 - Live 0x0000000000000000`. */
function firstWords(text: string): readonly string[] {
  return text.split("\n").map((line) => line.split(" ", 1)[0]).filter((word) => word !== "");
}

/** `kernel/net/netfilter/nft_numgen.ko.xz: kernel/net/netfilter/nf_tables.ko.xz`. */
function moduleNames(text: string): readonly string[] {
  return [...text.matchAll(/^(?:[^\s:]*\/)?([^\s:/]+)\.ko(?:\.\w+)?(?=:|$)/gm)]
    .map(([, name]) => name.replaceAll("-", "_"));
}

/** `CONFIG_NF_TABLES=m`. */
function optionsOf(text: string): readonly (readonly [string, string])[] {
  return [...text.matchAll(/^(CONFIG_\w+)=([ym])$/gm)].map(([, name, value]) => [name, value]);
}
