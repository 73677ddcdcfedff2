/** A controller whose signal somebody else's signal, or the time, aborts too, until it is disposed. */
export interface LinkedAbort extends Disposable {
  readonly signal: AbortSignal;
  abort(): void;
}

/**
 * AbortSignal.any for whoever waits for long: the signals of that one are collected as garbage, with
 * all their listeners, while nothing but listeners knows them. Dispose it when the wait is over.
 */
export function linkAbort(
  outer: AbortSignal,
  { afterMs }: { readonly afterMs?: number } = {},
): LinkedAbort {
  const controller = new AbortController();
  const abort = () => controller.abort(outer.reason);
  if (outer.aborted) abort();
  else outer.addEventListener("abort", abort, { once: true });
  const timer = afterMs === undefined ? undefined : setTimeout(() => controller.abort(), afterMs);
  return {
    signal: controller.signal,
    abort: () => controller.abort(),
    [Symbol.dispose]: () => {
      outer.removeEventListener("abort", abort);
      clearTimeout(timer);
    },
  };
}

/** Resolves when the signal aborts, at once when it has. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
