/**
 * Small files of /proc and /sys, by which the kernel tells and is told. They may lie below another
 * root: a pod that looks at its node sees the node's at `/host/proc` and `/host/sys`.
 *
 * Reads and writes are synchronous on purpose: an asynchronous file operation runs on another thread,
 * which may be in another network namespace.
 */
import { SysctlError, type SysctlFault } from "./sysctl.ts";

/** Folders of a machine by what is found there. */
export const HostFolder = {
  programs: "/usr",
  configuration: "/etc",
  processes: "/proc",
  firstProcess: "/proc/1",
} as const;

/** Reads and writes them. `subject` is what a failure calls the file. */
export class KernelFiles {
  readonly #root: string;

  /** `root` is a folder of the machine whose /proc and /sys are meant; this one's when absent. */
  constructor(root = "") {
    this.#root = root.replace(/\/+$/, "");
  }

  /** Without its final newline; undefined when there is none. Throws `SysctlError`. */
  read(path: string, subject = path): string | undefined {
    return this.#unlessMissing(
      subject,
      () => Deno.readTextFileSync(`${this.#root}${path}`).trimEnd(),
    );
  }

  /** The names in a folder, sorted; undefined when there is none. Throws `SysctlError`. */
  list(path: string): readonly string[] | undefined {
    return this.#unlessMissing(
      path,
      () => [...Deno.readDirSync(`${this.#root}${path}`)].map(({ name }) => name).sort(),
    );
  }

  /** Whether there is a folder; links are followed. */
  isFolder(path: string): boolean {
    return this.#unlessMissing(path, () => Deno.statSync(`${this.#root}${path}`))?.isDirectory ??
      false;
  }

  /** The same as `read` for a file that is packed with gzip. */
  async readCompressed(path: string): Promise<string | undefined> {
    const packed = this.#unlessMissing(path, () => Deno.readFileSync(`${this.#root}${path}`));
    if (!packed) return undefined;
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return await new Response(stream).text();
  }

  /** What a link of /proc says; undefined where there is none. Throws `SysctlError`. */
  readLink(path: string): string | undefined {
    return this.#unlessMissing(path, () => Deno.readLinkSync(`${this.#root}${path}`));
  }

  /** Writes a file that must exist already. Throws `SysctlError`. */
  write(path: string, subject: string, value: string): void {
    try {
      // These files can neither be created nor truncated.
      using file = Deno.openSync(`${this.#root}${path}`, { write: true });
      file.writeSync(new TextEncoder().encode(value));
    } catch (cause) {
      const fault = faultOf(cause);
      throw new SysctlError(
        `Cannot set "${subject}" to "${value}": ${causeOf(cause)}; ${hints[fault]}`,
        { setting: subject, fault, cause },
      );
    }
  }

  /** What /proc tells of the network namespace of this thread, or of the other machine: `if_inet6`. */
  readNet(name: string): string | undefined {
    return this.read(`${this.#netFolder}/${name}`, `net/${name}`);
  }

  /** Its first bytes, which take no longer however long the file is; ASCII. Undefined when there is none. */
  readNetHead(name: string, bytes = 256): string | undefined {
    return this.#unlessMissing(`net/${name}`, () => {
      using file = Deno.openSync(`${this.#root}${this.#netFolder}/${name}`);
      const head = new Uint8Array(bytes);
      return new TextDecoder().decode(head.subarray(0, file.readSync(head) ?? 0));
    });
  }

  #unlessMissing<T>(subject: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (cause) {
      if (cause instanceof Deno.errors.NotFound) return undefined;
      const fault = faultOf(cause);
      throw new SysctlError(`Cannot read "${subject}": ${causeOf(cause)}`, {
        setting: subject,
        fault,
        cause,
      });
    }
  }

  /**
   * A namespace belongs to a thread. Below another root there is none of ours: `net` is a link to the
   * reader's own namespace there too, and the machine's is the one of its first process.
   */
  get #netFolder(): string {
    return this.#root === "" ? "/proc/thread-self/net" : "/proc/1/net";
  }
}

const hints: Readonly<Record<SysctlFault, string>> = {
  absent: "load the kernel module it belongs to",
  "read-only": "set it on the node itself, or run once with write access to it",
  refused: "run as root in the node's own namespaces",
  invalid: "use a value that this kernel accepts",
};

function faultOf(cause: unknown): SysctlFault {
  if (cause instanceof Deno.errors.NotFound) return "absent";
  // EROFS has no class of its own.
  if (messageOf(cause).includes("(os error 30)")) return "read-only";
  if (cause instanceof Deno.errors.PermissionDenied) return "refused";
  return /\(os error (1|13)\)/.test(messageOf(cause)) ? "refused" : "invalid";
}

function causeOf(cause: unknown): string {
  // "Permission denied (os error 13): writefile '/proc/sys/x'": the path is said already.
  return messageOf(cause).replace(/(\(os error \d+\)).*$/s, "$1");
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
