import assert from "node:assert/strict";
import type { ObjectEvent } from "../../../lib/base/event_sink.ts";
import type { JsonRequest } from "../../../lib/kube/client.ts";
import { ApiEventSink } from "../../../lib/kube/events.ts";
import { ApiError, ConnectionError, emptyStatus } from "../../../lib/kube/status.ts";
import { FakeClock, settle } from "../../fakes/fake_clock.ts";
import { CollectingLog } from "../../fakes/kube_client.ts";

const started = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const onNode: ObjectEvent = {
  about: { kind: "Node", namespace: "", name: "node-1" },
  type: "Normal",
  reason: "Starting",
  action: "StartKubeProxy",
  note: "",
};
const onService = (note: string): ObjectEvent => ({
  about: { kind: "Service", namespace: "shop", name: "web" },
  type: "Warning",
  reason: "FailedToStartServiceHealthcheck",
  action: "Listen",
  note,
});

const refusal = (code: number) => new ApiError("no", { ...emptyStatus, code });
const minuteMs = 60_000;

interface Rig {
  readonly sink: ApiEventSink;
  readonly clock: FakeClock;
  readonly log: CollectingLog;
  /** Every request, refused or not. */
  readonly requests: JsonRequest[];
  /** What the server answers next, one for each request; it takes what is not listed. */
  readonly failures: (Error | undefined)[];
  /** Methods and last words of the paths since the last call. */
  readonly take: () => readonly string[];
  readonly stop: () => Promise<void>;
}

async function withSink(body: (rig: Rig) => Promise<void>): Promise<void> {
  const clock = new FakeClock(started);
  const log = new CollectingLog();
  const requests: JsonRequest[] = [];
  const failures: (Error | undefined)[] = [];
  const json = (request: JsonRequest): Promise<unknown> => {
    requests.push(request);
    const failure = failures.shift();
    return failure ? Promise.reject(failure) : Promise.resolve({});
  };
  const sink = new ApiEventSink({
    client: { json },
    hostName: "machine",
    clock,
    log,
    random: () => 0,
  });
  const abort = new AbortController();
  const running = sink.run(abort.signal);
  let taken = 0;
  const take = () => {
    const news = requests.slice(taken);
    taken = requests.length;
    return news.map(({ method, body }) => {
      const series = Object(body).series;
      return series ? `${method} ${series.count}` : method;
    });
  };
  const stop = async () => {
    abort.abort();
    await running;
  };
  try {
    await body({ sink, clock, log, requests, failures, take, stop });
  } finally {
    await stop();
  }
}

Deno.test("ApiEventSink writes an event of a Node as upstream's proxy does", () =>
  withSink(async ({ sink, requests }) => {
    sink.emit(onNode);
    await settle();
    const [{ method, path, body }] = requests;
    assert.equal(`${method} ${path}`, "POST /apis/events.k8s.io/v1/namespaces/default/events");
    const name = `node-1.${(BigInt(started) * 1_000_000n).toString(16)}`;
    assert.deepEqual(body, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name, namespace: "default" },
      eventTime: "2026-01-02T03:04:05.678000Z",
      reportingController: "kube-proxy",
      reportingInstance: "kube-proxy-machine",
      regarding: { apiVersion: "v1", kind: "Node", name: "node-1" },
      type: "Normal",
      reason: "Starting",
      action: "StartKubeProxy",
      note: "",
    });
  }));

Deno.test("ApiEventSink writes an event of a Service into its namespace, and cuts a long note", () =>
  withSink(async ({ sink, requests }) => {
    sink.emit(onService("x".repeat(2_000)));
    await settle();
    const [{ path, body }] = requests;
    assert.equal(path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    const { regarding, note, metadata } = Object(body);
    assert.deepEqual(regarding, {
      apiVersion: "v1",
      kind: "Service",
      name: "web",
      namespace: "shop",
    });
    assert.equal(note.length, 1_024);
    assert.equal(metadata.namespace, "shop");
  }));

Deno.test("ApiEventSink writes what was emitted at once one after the other, each under its own name", () =>
  withSink(async ({ sink, requests, take }) => {
    for (const note of ["a", "b", "c"]) sink.emit(onService(note));
    await settle();
    assert.deepEqual(take(), ["POST", "POST", "POST"]);
    assert.deepEqual(requests.map(({ body }) => Object(body).note), ["a", "b", "c"]);
    assert.equal(new Set(requests.map(({ body }) => Object(body).metadata.name)).size, 3);
    sink.emit(onNode);
    await settle();
    assert.deepEqual(take(), ["POST"], "the sink went on");
  }));

Deno.test("ApiEventSink makes a series of what happens again, and tells now and then how long it is", () =>
  withSink(async ({ sink, clock, requests, take }) => {
    sink.emit(onNode);
    await settle();
    await clock.advance(1_000);
    sink.emit(onNode);
    await settle();
    assert.deepEqual(take(), ["POST", "PATCH 2"]);
    const { path, contentType, body } = requests[1];
    const { name } = Object(requests[0].body).metadata;
    assert.equal(path, `/apis/events.k8s.io/v1/namespaces/default/events/${name}`);
    assert.equal(contentType, "application/merge-patch+json");
    assert.deepEqual(body, {
      series: { count: 2, lastObservedTime: "2026-01-02T03:04:06.678000Z" },
    });
    for (let i = 0; i < 5; i++) sink.emit(onNode);
    await settle();
    assert.deepEqual(take(), [], "the third one waits");
    await clock.advance(6 * minuteMs);
    assert.deepEqual(take(), ["PATCH 7"]);
    await clock.advance(6 * minuteMs);
    assert.deepEqual(take(), [], "nothing happened since");
    sink.emit(onNode);
    await settle();
    assert.deepEqual(take(), ["POST"], "a series that rested is over");
    await clock.advance(3 * minuteMs);
    sink.emit(onNode);
    await clock.advance(5 * minuteMs);
    sink.emit(onNode);
    await clock.advance(7 * minuteMs);
    assert.deepEqual(take(), ["PATCH 2", "PATCH 3"], "one that goes on is not");
  }));

Deno.test("ApiEventSink forgets a series only after it rested, whatever else happens", () =>
  withSink(async ({ sink, clock, take }) => {
    await clock.advance(minuteMs);
    sink.emit(onNode);
    await clock.advance(5.5 * minuteMs);
    sink.emit(onService("another"));
    await settle();
    sink.emit(onNode);
    await settle();
    assert.deepEqual(take(), ["POST", "POST", "PATCH 2"]);
  }));

Deno.test("ApiEventSink puts what happened twice before it could be written into one event", () =>
  withSink(async ({ sink, take }) => {
    sink.emit(onNode);
    sink.emit(onNode);
    await settle();
    assert.deepEqual(take(), ["POST", "PATCH 2"]);
  }));

Deno.test("ApiEventSink tries again while the apiserver is away or busy, in order, without a word", () =>
  withSink(async ({ sink, clock, log, failures, requests, take }) => {
    failures.push(new ConnectionError("gone"), refusal(503), refusal(429));
    sink.emit(onService("first"));
    sink.emit(onService("second"));
    await settle();
    assert.deepEqual(take(), ["POST"]);
    for (let i = 0; i < 3; i++) {
      await clock.advance(9_999);
      assert.deepEqual(take(), []);
      await clock.advance(1);
      assert.deepEqual(take(), i < 2 ? ["POST"] : ["POST", "POST"]);
    }
    const notes = requests.map(({ body }) => Object(body).note);
    assert.deepEqual(notes, ["first", "first", "first", "first", "second"]);
    assert.deepEqual([log.lines, log.details.length], [[], 3]);
  }));

Deno.test("ApiEventSink gives an event up after twelve tries, and goes on with the next", () =>
  withSink(async ({ sink, clock, failures, requests }) => {
    for (let i = 0; i < 12; i++) failures.push(new ConnectionError("gone"));
    sink.emit(onService("first"));
    sink.emit(onService("second"));
    await clock.advance(5 * minuteMs);
    const notes = requests.map(({ body }) => Object(body).note);
    assert.deepEqual(notes, [...Array(12).fill("first"), "second"]);
  }));

Deno.test("ApiEventSink drops what is refused, says so once, and begins anew with the next occurrence", () =>
  withSink(async ({ sink, log, failures, take }) => {
    failures.push(refusal(404), refusal(422));
    for (const note of ["a", "b", "c"]) sink.emit(onService(note));
    await settle();
    assert.deepEqual(take(), ["POST", "POST", "POST"]);
    assert.equal(log.lines.length, 1);
    assert.match(log.lines[0], /^warning: The apiserver refused an event, dropping it .*"no"/);
    sink.emit(onService("a"));
    await settle();
    assert.deepEqual(take(), ["POST"], "not a second occurrence of what was dropped");
    failures.push(refusal(404));
    sink.emit(onService("d"));
    await settle();
    assert.equal(log.lines.length, 2, "after a success it is news again");
  }));

Deno.test("ApiEventSink takes nothing more where events are not allowed at all", () =>
  withSink(async ({ sink, clock, log, failures, take }) => {
    failures.push(refusal(403));
    for (const note of ["a", "b", "c"]) sink.emit(onService(note));
    await settle();
    assert.deepEqual(take(), ["POST"]);
    sink.emit(onNode);
    await clock.advance(20 * minuteMs);
    assert.deepEqual(take(), []);
    assert.equal(log.lines.length, 1);
  }));

Deno.test("ApiEventSink holds a thousand kinds of events, and no more", () =>
  withSink(async ({ sink, take }) => {
    for (let i = 0; i < 1_000; i++) {
      sink.emit(onService(String(i)));
      if (i % 100 === 0) await settle();
    }
    await settle();
    sink.emit(onNode);
    await settle();
    assert.equal(take().length, 1_000);
  }));

Deno.test("ApiEventSink writes its last words when it is disposed, once", () =>
  withSink(async ({ sink, failures, log, take, stop }) => {
    await stop();
    sink.emit(onNode);
    sink.emit(onService("a"));
    await sink[Symbol.asyncDispose]();
    assert.deepEqual(take(), ["POST", "POST"]);
    await sink[Symbol.asyncDispose]();
    assert.deepEqual(take(), []);
    failures.push(new ConnectionError("gone"));
    sink.emit(onService("b"));
    sink.emit(onService("c"));
    await sink[Symbol.asyncDispose]();
    assert.deepEqual(take(), ["POST"], "whoever is away is not asked again");
    assert.deepEqual(log.lines, []);
  }));
