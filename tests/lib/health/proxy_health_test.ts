import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import { healthzHandler } from "../../../lib/health/healthz.ts";
import { ProxyHealth } from "../../../lib/health/proxy_health.ts";

/** Sync period 30 s: a queued change may wait 60 s. */
const timeoutMs = 60_000;

class World {
  nowMs = Date.UTC(2026, 10, 18, 12, 0, 0, 120);
  nodeEligible = true;
  readonly metrics = new MetricsRegistry();
  readonly health: ProxyHealth;
  readonly handler: (request: Request) => Response;

  constructor(families: readonly IpFamily[] = ["IPv4", "IPv6"]) {
    this.health = new ProxyHealth({
      clock: {
        now: () => this.nowMs,
        monotonic: () => this.nowMs,
        sleep: () => Promise.resolve(),
        after: () => () => {},
      },
      timeoutMs,
      families,
      nodeEligible: () => this.nodeEligible,
    });
    this.handler = healthzHandler(this.health, {
      healthz: this.metrics.counter({
        name: "proxy_healthz_total",
        help: "healthz",
        labels: ["code"],
      }),
      livez: this.metrics.counter({ name: "proxy_livez_total", help: "livez", labels: ["code"] }),
    });
  }

  start(): void {
    this.health.started("IPv4");
    this.health.started("IPv6");
  }

  sync(...families: IpFamily[]): void {
    for (const family of families) this.health.updated(family);
  }

  codes(): string {
    return `${this.get("/livez").status} ${this.get("/healthz").status}`;
  }

  get(path: string): Response {
    return this.handler(new Request(`http://node${path}`));
  }
}

/** livez and healthz, in the order of the table in the commands' specification. */
const states: readonly { name: string; arrange: (world: World) => void; codes: string }[] = [
  { name: "before the loops start", arrange: () => {}, codes: "200 503" },
  { name: "started, nothing synced", arrange: (w) => w.start(), codes: "200 503" },
  { name: "only one family synced", arrange: (w) => (w.start(), w.sync("IPv4")), codes: "200 503" },
  { name: "in sync", arrange: (w) => (w.start(), w.sync("IPv4", "IPv6")), codes: "200 200" },
  {
    name: "a change waits, not too long",
    arrange: (
      w,
    ) => (w.start(), w.sync("IPv4", "IPv6"), w.health.queued("IPv6"), w.nowMs += timeoutMs - 1),
    codes: "200 200",
  },
  {
    name: "a change of one family waits too long",
    arrange: (
      w,
    ) => (w.start(), w.sync("IPv4", "IPv6"), w.health.queued("IPv6"), w.nowMs += timeoutMs),
    codes: "503 503",
  },
  {
    name: "a later change does not make the oldest younger",
    arrange: (w) => {
      w.start(), w.sync("IPv4", "IPv6"), w.health.queued("IPv4");
      w.nowMs += timeoutMs - 1;
      w.health.queued("IPv4");
      w.nowMs += 1;
    },
    codes: "503 503",
  },
  {
    name: "the change of the other family was synced",
    arrange: (
      w,
    ) => (w.start(),
      w.sync("IPv4", "IPv6"),
      w.health.queued("IPv6"),
      w.nowMs += timeoutMs,
      w.sync("IPv4")),
    codes: "503 503",
  },
  {
    name: "the change that waited was synced",
    arrange: (
      w,
    ) => (w.start(),
      w.sync("IPv4", "IPv6"),
      w.health.queued("IPv6"),
      w.nowMs += timeoutMs,
      w.sync("IPv6")),
    codes: "200 200",
  },
  {
    name: "the first sync fails for too long",
    arrange: (w) => (w.start(), w.health.queued("IPv4"), w.nowMs += timeoutMs),
    codes: "503 503",
  },
  {
    name: "the node must not get traffic",
    arrange: (w) => (w.start(), w.sync("IPv4", "IPv6"), w.nodeEligible = false),
    codes: "200 503",
  },
];

Deno.test("healthz and livez tell alive, in sync and eligible apart", async (t) => {
  for (const { name, arrange, codes } of states) {
    await t.step(name, () => {
      const world = new World();
      arrange(world);
      assert.equal(world.codes(), codes);
    });
  }
});

Deno.test("a family that is not programmed does not hold the answer back", () => {
  const world = new World(["IPv4"]);
  world.health.started("IPv4");
  world.sync("IPv4");
  assert.equal(world.codes(), "200 200");
});

Deno.test("healthz has upstream's headers, key order and times", async () => {
  const world = new World();
  world.start();
  world.sync("IPv4");
  world.nowMs += 1000;
  const waiting = world.get("/healthz");
  assert.equal(waiting.headers.get("content-type"), "application/json");
  assert.equal(waiting.headers.get("x-content-type-options"), "nosniff");
  const body = await waiting.text();
  assert.deepEqual(Object.keys(JSON.parse(body)), [
    "lastUpdated",
    "currentTime",
    "nodeEligible",
    "healthy",
    "status",
  ]);
  assert.equal(JSON.parse(body).healthy, false);
  assert.match(JSON.parse(body).lastUpdated, /^2026-11-18T\d\d:\d\d:00\.12(Z|[+-]\d\d:\d\d)$/);
  assert.ok(!body.endsWith("\n"));

  world.sync("IPv6");
  const live = await world.get("/livez").json();
  assert.deepEqual(Object.keys(live), ["lastUpdated", "currentTime", "healthy", "status"]);
  assert.equal(live.lastUpdated, live.currentTime);
  assert.equal(live.status.IPv6.healthy, true);
});

Deno.test("healthz shows Go's zero time and no status before the loops start", async () => {
  const body = await new World().get("/healthz").json();
  assert.equal(body.lastUpdated, "0001-01-01T00:00:00Z");
  assert.equal("status" in body, false);
});

Deno.test("an ineligible node is healthy in the body", async () => {
  const world = new World();
  world.start();
  world.sync("IPv4", "IPv6");
  world.nodeEligible = false;
  const body = await world.get("/healthz").json();
  assert.deepEqual([body.nodeEligible, body.healthy], [false, true]);
});

Deno.test("every answer is counted by its code; other paths are not found", async () => {
  const world = new World();
  world.get("/healthz");
  world.get("/livez");
  world.get("/livez?verbose");
  assert.equal(world.get("/").status, 404);
  const page = await world.metrics.expose();
  assert.match(page, /proxy_healthz_total\{code="503"\} 1/);
  assert.match(page, /proxy_livez_total\{code="200"\} 2/);
});
