/** Programs of the host that read its rules: what they are, and whether they survive reading them. */
import { CommandError, type Commands } from "../../kernel/commands.ts";
import { moduleState } from "../../kernel/inspection/module_inventory.ts";
import type { Fact, FactReader } from "../fact.ts";
import { absent, known } from "./known.ts";
import type { NftTool } from "./node_values.ts";

/** What the readers work with. */
export interface ToolsOptions {
  readonly commands: Commands;
  /** The host's own programs are below it; empty for this machine's. */
  readonly hostRoot: string;
}

/** Asks `nft`, in a child process. It reads rules only where the kernel has them, since asking would load them. */
export function nftToolReader(options: ToolsOptions): FactReader<NftTool> {
  return {
    timeoutMs: 15_000,
    read: async ({ facts, signal }) => {
      const host = hostCommands(options);
      const path = host.find("nft");
      if (path === undefined) return absent("the host has no nft");
      const version = await host.run([path, "--version"], signal);
      const features = await host.run([path, "-V"], signal);
      const modules = await facts.read("modules");
      const state = modules.kind === "value" ? moduleState(modules.value, "nf_tables") : "unknown";
      const isThere = state === "loaded" || state === "built-in" ||
        (modules.kind === "value" && modules.value.loaded === undefined);
      const json = /^\s*json:\s*(yes|no)\s*$/m.exec(features.text)?.[1];
      return known({
        path,
        version: /\bv?(\d+\.\d+(?:\.\d+)?)/.exec(version.text)?.[1] ?? "",
        listing: isThere ? await listing(host, path, signal) : { kind: "fine" },
        json: json === "yes" || json === "no" ? json : "untold",
      });
    },
  };
}

async function listing(
  host: HostCommands,
  path: string,
  signal: AbortSignal,
): Promise<NftTool["listing"]> {
  for (const what of ["tables", "sets"]) {
    const ended = await host.run([path, "list", what], signal);
    if (ended.killedBy !== undefined) return { kind: "crashed", signal: ended.killedBy };
    if (ended.exitCode !== 0) {
      const words = ended.text.trim().split("\n").at(-1) ?? "";
      return { kind: /Operation not permitted/i.test(words) ? "forbidden" : "refused", words };
    }
  }
  return { kind: "fine" };
}

/** Looks for `iptables`. */
export function iptablesToolReader(options: ToolsOptions): FactReader<string> {
  return {
    read: (): Fact<string> => {
      const path = hostCommands(options).find("iptables");
      return path === undefined ? absent("the host has no iptables") : known(path);
    },
  };
}

interface HostCommands {
  find(name: string): string | undefined;
  run(argv: readonly string[], signal: AbortSignal): Promise<Ended>;
}

interface Ended {
  readonly exitCode: number;
  /** What it printed, errors behind the rest. */
  readonly text: string;
  readonly killedBy?: string;
}

const folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** A program of another root needs the libraries of that root. */
function hostCommands({ commands, hostRoot }: ToolsOptions): HostCommands {
  return {
    find: (name) =>
      hostRoot === "" ? commands.lookPath(name) : folders.map((folder) => `${folder}/${name}`)
        .find((path) => commands.lookPath(`${hostRoot}${path}`) !== undefined),
    run: async (argv, signal) => {
      try {
        const whole = hostRoot === "" ? argv : ["chroot", hostRoot, ...argv];
        const { exitCode, stderr, stdout } = await commands.run(whole, { signal });
        return { exitCode, text: `${stdout}${stderr}` };
      } catch (error) {
        const killedBy = error instanceof CommandError
          ? /killed by (SIG(?:SEGV|ABRT|BUS|ILL))/.exec(error.message)?.[1]
          : undefined;
        if (killedBy === undefined) throw error;
        return { exitCode: -1, text: "", killedBy };
      }
    },
  };
}
