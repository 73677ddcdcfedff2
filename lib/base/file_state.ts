/** What there is under a path, without a look into it. */
import type { Clock } from "./clock.ts";

/** What there is under a path now. */
export type FileState =
  | {
    readonly kind: "file" | "directory";
    /** Differs once the file was written or replaced, or an entry of the directory was. */
    readonly stamp: string;
    /** False when a change just now could leave the stamp as it is: clocks of file systems are coarse. */
    readonly settled: boolean;
  }
  /** A pipe, a socket or a device. */
  | { readonly kind: "special" }
  /** A link to nothing, or what may not be looked at: reading it tells why. */
  | { readonly kind: "unreachable" }
  | { readonly kind: "nothing" };

/** File systems count time in steps of up to 10 ms. */
const clockStepMs = 30;

/**
 * Asks the system without giving way to others: 1.6 microseconds for each path instead of 39. Whoever
 * asks for thousands has to let others work in between.
 */
export function fileState(path: string, clock: Clock): FileState {
  try {
    return stateOf(Deno.statSync(path), clock);
  } catch {
    return withoutTarget(path);
  }
}

/** The same where an answer may take long: a file system of the network whose server is gone. */
export async function fileStateInTime(path: string, clock: Clock): Promise<FileState> {
  try {
    return stateOf(await Deno.stat(path), clock);
  } catch {
    return withoutTarget(path);
  }
}

function stateOf(info: Deno.FileInfo, clock: Clock): FileState {
  if (!info.isFile && !info.isDirectory) return { kind: "special" };
  const { dev, ino, size, mtime, ctime } = info;
  const [written, changed] = [mtime?.getTime() ?? 0, ctime?.getTime() ?? 0];
  return {
    kind: info.isFile ? "file" : "directory",
    stamp: `${dev}:${ino}:${size}:${written}:${changed}`,
    settled: Math.abs(clock.now() - Math.max(written, changed)) > clockStepMs,
  };
}

function withoutTarget(path: string): FileState {
  try {
    Deno.lstatSync(path);
    return { kind: "unreachable" };
  } catch (error) {
    const isNothing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory;
    return { kind: isNothing ? "nothing" : "unreachable" };
  }
}
