/** Starts the thread of a rehearsal, and ends it with all that it made. */
import type { RehearsalAnswer, RehearsalRequest } from "./messages.ts";

/** What ends a rehearsal, and how its thread is started. */
export interface StageOptions {
  readonly signal: AbortSignal;
  /** The runtime's own threads when absent. */
  readonly start?: (url: URL) => Worker;
}

/** Resolves when the thread is told to end; throws when it dies, or when the signal aborts first. */
export async function onStage(
  request: RehearsalRequest,
  { signal, start = startThread }: StageOptions,
): Promise<RehearsalAnswer> {
  const url = new URL(
    import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js",
    import.meta.url,
  );
  const worker = start(url);
  const answered = Promise.withResolvers<RehearsalAnswer>();
  const stop = () => answered.reject(new Error("stopped before it ended"));
  worker.onmessage = ({ data }: MessageEvent<RehearsalAnswer>) => answered.resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    answered.reject(new Error(`the thread of the rehearsal died: ${event.message}`));
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    worker.postMessage(request);
    return await answered.promise;
  } finally {
    signal.removeEventListener("abort", stop);
    worker.terminate();
  }
}

function startThread(url: URL): Worker {
  return new Worker(url, { type: "module", name: "rehearsal" });
}
