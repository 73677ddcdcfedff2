/** The real process around a command: its streams, environment and signals. */
import { describeError, isBrokenPipe } from "../lib/base/errors.ts";
import type { Output, Surroundings } from "./command.ts";

/** What a shell sees of a program that dies of SIGPIPE. */
const brokenPipeExitCode = 141;

interface SyncWriter {
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

/** Standard streams that write at once, and signals that are caught once somebody asks for them. */
export function processSurroundings(): Surroundings {
  let signal: AbortSignal | undefined;
  return {
    stdin: {
      get readable() {
        return Deno.stdin.readable;
      },
      get isTerminal() {
        return Deno.stdin.isTerminal();
      },
    },
    // Whoever reads the output and goes away has seen enough; nobody is left to be told.
    stdout: outputOf(Deno.stdout, (error) => {
      if (isBrokenPipe(error)) Deno.exit(brokenPipeExitCode);
      const message = `Cannot write to standard output: ${describeError(error)}`;
      throw new Error(message, { cause: error });
    }),
    // A log that is full or closed is no reason to stop working, and there is nowhere to say so.
    stderr: outputOf(Deno.stderr, () => {}),
    pid: Deno.pid,
    env: (name) => Deno.env.get(name),
    get signal() {
      return signal ??= terminationSignal();
    },
  };
}

function outputOf(stream: SyncWriter, onFailure: (error: unknown) => void): Output {
  const encoder = new TextEncoder();
  return {
    write(text) {
      try {
        writeAll(stream, encoder.encode(text));
      } catch (error) {
        onFailure(error);
      }
    },
    get isTerminal() {
      return stream.isTerminal();
    },
  };
}

function writeAll(stream: SyncWriter, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) {
    try {
      written += stream.writeSync(bytes.subarray(written));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      // Somebody made the pipe non-blocking; its reader needs a moment.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** A second signal finds no listener any more and ends the process as signals do. */
function terminationSignal(): AbortSignal {
  const controller = new AbortController();
  const names = ["SIGINT", "SIGTERM"] as const;
  const abort = () => {
    for (const name of names) Deno.removeSignalListener(name, abort);
    controller.abort();
  };
  for (const name of names) Deno.addSignalListener(name, abort);
  return controller.signal;
}
