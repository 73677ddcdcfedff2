import assert from "node:assert/strict";
import type {
  RehearsalAnswer,
  RehearsalRequest,
} from "../../../../lib/doctor/rehearsal/messages.ts";
import { onStage } from "../../../../lib/doctor/rehearsal/stage.ts";

const request: RehearsalRequest = {
  mode: "nftables",
  sections: {} as RehearsalRequest["sections"],
  snapshots: [],
  mostFrontends: 3,
};

/** A thread that a test plays. */
class PlayedThread {
  readonly asked: unknown[] = [];
  readonly urls: string[] = [];
  isOver = false;
  onmessage: (event: { readonly data: RehearsalAnswer }) => void = () => {};
  onerror: (event: Event & { readonly message: string }) => void = () => {};

  readonly start = (url: URL): Worker => {
    this.urls.push(url.pathname);
    return this as unknown as Worker;
  };

  postMessage(message: unknown): void {
    this.asked.push(message);
  }

  terminate(): void {
    this.isOver = true;
  }
}

/** A signal, and how many listen to it. */
function countingSignal() {
  const abort = new AbortController();
  const { signal } = abort;
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  return { abort, signal, listeners: () => listeners };
}

Deno.test("onStage() gives the thread's answer, ends it and leaves the signal alone", async () => {
  const thread = new PlayedThread();
  const { listeners, signal } = countingSignal();
  const answered = onStage(request, { signal, start: thread.start });
  assert.deepEqual([thread.asked, thread.isOver, listeners()], [[request], false, 1]);
  assert.match(thread.urls.join(), /\/rehearsal\/worker\.ts$/);
  const answer = { kind: "failed", because: "no" } as const;
  thread.onmessage({ data: answer });
  assert.deepEqual(await answered, answer);
  assert.deepEqual([thread.isOver, listeners()], [true, 0]);
});

Deno.test("onStage() tells of a thread that died, which does not end the program", async () => {
  const thread = new PlayedThread();
  const answered = onStage(request, { signal: new AbortController().signal, start: thread.start });
  const event = Object.assign(new Event("error", { cancelable: true }), { message: "no room" });
  thread.onerror(event);
  await assert.rejects(answered, { message: "the thread of the rehearsal died: no room" });
  assert.deepEqual([event.defaultPrevented, thread.isOver], [true, true]);
});

Deno.test("onStage() ends with its signal, be it before", async () => {
  for (const isBefore of [true, false]) {
    const thread = new PlayedThread();
    const { abort, signal } = countingSignal();
    if (isBefore) abort.abort();
    const answered = onStage(request, { signal, start: thread.start });
    if (!isBefore) abort.abort();
    await assert.rejects(answered, { message: "stopped before it ended" });
    assert.equal(thread.isOver, true);
  }
});
