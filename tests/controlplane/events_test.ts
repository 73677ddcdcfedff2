import assert from "node:assert/strict";
import { systemClock as clock } from "../../lib/base/clock.ts";
import type { ObjectEvent } from "../../lib/base/event_sink.ts";
import { ApiEventSink } from "../../lib/kube/events.ts";
import { CollectingLog, createTestClient } from "../fakes/kube_client.ts";
import { ApiClient } from "./rig/api.ts";
import { sharedControlPlane } from "./rig/shared.ts";

interface ApiEvent {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly regarding: Readonly<Record<string, string>>;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly reason: string;
  readonly action: string;
  readonly type: string;
  readonly note?: string;
  readonly series?: { readonly count: number };
}

const onService: ObjectEvent = {
  about: { kind: "Service", namespace: "default", name: "web" },
  type: "Warning",
  reason: "FailedToStartServiceHealthcheck",
  action: "Listen",
  note: "address in use",
};

/** Emits with somebody's rights and gives what the apiserver then holds. */
async function withSink(
  who: "the proxy" | "nobody" | "a stranger",
  body: (tools: {
    readonly sink: ApiEventSink;
    readonly log: CollectingLog;
    readonly events: () => Promise<readonly ApiEvent[]>;
  }) => Promise<void>,
): Promise<void> {
  const access = await sharedControlPlane();
  using api = new ApiClient(access);
  const tokens = {
    "the proxy": access.proxyToken,
    "nobody": access.adminToken,
    "a stranger": "nobody-knows-this",
  };
  const nobody = { user: "nobody", uid: "", groups: [], extra: new Map() };
  const { client, transport } = createTestClient({
    url: access.url,
    caCertificate: access.caCertificate,
    access: {
      token: { kind: "inline", text: tokens[who] },
      ...(who === "nobody" ? { impersonation: nobody } : {}),
    },
  });
  const log = new CollectingLog();
  const sink = new ApiEventSink({ client, hostName: "machine", clock, log });
  const stop = new AbortController();
  const running = sink.run(stop.signal);
  const path = "/apis/events.k8s.io/v1/namespaces/default/events";
  const events = async () => (await api.request<{ items: ApiEvent[] }>("GET", path)).items;
  try {
    await body({ sink, log, events });
  } finally {
    stop.abort();
    await running;
    transport[Symbol.dispose]();
  }
}

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    const found = await ask();
    if (found !== undefined) return found;
    await clock.sleep(20);
  }
  throw new Error(`Not in 10 s: ${what}`);
}

Deno.test("ApiEventSink writes an event on the Node as upstream does, with the proxy's own rights", async () => {
  await withSink("the proxy", async ({ sink, events }) => {
    sink.emit({
      about: { kind: "Node", namespace: "", name: "node-events" },
      type: "Normal",
      reason: "Starting",
      action: "StartKubeProxy",
      note: "",
    });
    const event = await until(
      "the event",
      async () => (await events()).find(({ regarding }) => regarding.name === "node-events"),
    );
    assert.match(event.metadata.name, /^node-events\.[0-9a-f]{16}$/);
    assert.equal(event.metadata.namespace, "default");
    assert.deepEqual(event.regarding, { kind: "Node", apiVersion: "v1", name: "node-events" });
    assert.equal(event.reportingController, "kube-proxy");
    assert.equal(event.reportingInstance, "kube-proxy-machine");
    assert.deepEqual([event.type, event.reason, event.action], [
      "Normal",
      "Starting",
      "StartKubeProxy",
    ]);
  });
});

Deno.test("ApiEventSink makes repeats a series of one event", async () => {
  await withSink("the proxy", async ({ sink, events }) => {
    for (let i = 0; i < 5; i++) sink.emit(onService);
    const mine = async () => (await events()).filter(({ regarding }) => regarding.name === "web");
    await until(
      "a series",
      async () => (await mine()).find(({ series }) => (series?.count ?? 0) > 1),
    );
    assert.equal((await mine()).length, 1);
  });
});

for (const who of ["nobody", "a stranger"] as const) {
  Deno.test(`ApiEventSink drops the events of ${who}, with one line`, async () => {
    await withSink(who, async ({ sink, log }) => {
      for (let i = 0; i < 5; i++) sink.emit({ ...onService, note: `note ${i}` });
      await until("a line", () => Promise.resolve(log.lines.length > 0 ? true : undefined));
      sink.emit(onService);
      await clock.sleep(100);
      assert.equal(log.lines.length, 1, log.lines.join("\n"));
      assert.match(log.lines[0], /forbidden|Unauthorized/);
    });
  });
}
