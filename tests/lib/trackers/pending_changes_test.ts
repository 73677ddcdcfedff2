import assert from "node:assert/strict";
import { PendingChanges } from "../../../lib/trackers/pending_changes.ts";

function summary(pending: PendingChanges) {
  const { services, healthChecks, ...rest } = pending.take();
  const { settings, conntrackCleanup, triggerTimesMs } = rest;
  return {
    services: [...services].sort(),
    settings,
    healthChecks: [...healthChecks].sort(),
    conntrackCleanup,
    triggerTimesMs,
  };
}

const nothing = {
  services: [],
  settings: false,
  healthChecks: [],
  conntrackCleanup: false,
  triggerTimesMs: [],
};
const cause = {};

function filled(): PendingChanges {
  const pending = new PendingChanges();
  pending.addService("a");
  pending.addSettings();
  pending.addHealthCheck("test/a");
  pending.addConntrackCleanup();
  pending.addTriggerTime(cause, 1);
  return pending;
}

const everything = {
  services: ["a"],
  settings: true,
  healthChecks: ["test/a"],
  conntrackCleanup: true,
  triggerTimesMs: [1],
};

Deno.test("PendingChanges gives nothing again after a commit", () => {
  const pending = filled();
  assert.deepEqual(summary(pending), everything);
  pending.commit();
  assert.deepEqual(summary(pending), nothing);
});

Deno.test("PendingChanges gives again what a sync left unfinished, and cuts flows with it", () => {
  const pending = filled();
  pending.addService("b");
  pending.take();
  pending.addService("c");
  pending.commit(new Set(["b"]));
  assert.deepEqual(summary(pending), {
    ...nothing,
    services: ["b", "c"],
    conntrackCleanup: true,
  });
  pending.commit();
  pending.addService("b");
  pending.take();
  pending.commit(new Set(["b"]));
  assert.deepEqual(summary(pending), { ...nothing, services: ["b"] });
});

Deno.test("PendingChanges gives everything again after a restore, with what came meanwhile", () => {
  const pending = filled();
  pending.take();
  pending.addService("b");
  pending.addHealthCheck("test/b");
  pending.addTriggerTime(cause, 2);
  pending.restore();
  assert.deepEqual(summary(pending), {
    ...everything,
    services: ["a", "b"],
    healthChecks: ["test/a", "test/b"],
    triggerTimesMs: [1, 2],
  });
});

Deno.test("PendingChanges keeps what came during a sync that succeeds", () => {
  const pending = filled();
  pending.take();
  pending.addService("b");
  pending.commit();
  assert.deepEqual(summary(pending), { ...nothing, services: ["b"] });
});

Deno.test("PendingChanges restores by itself when it is taken twice", () => {
  const pending = filled();
  pending.take();
  assert.deepEqual(summary(pending), everything);
});

Deno.test("PendingChanges restores nothing after a commit", () => {
  const pending = filled();
  pending.take();
  pending.commit();
  pending.restore();
  assert.deepEqual(summary(pending), nothing);
});

Deno.test("PendingChanges drops the trigger times of one cause alone", () => {
  const pending = filled();
  pending.addTriggerTime({}, 5);
  pending.dropTriggerTimes(cause);
  assert.deepEqual(summary(pending).triggerTimesMs, [5]);
});

Deno.test("PendingChanges keeps the times of causes that come later, and cuts flows with them again", () => {
  const pending = filled();
  const later = {};
  pending.addTriggerTime(later, 2);
  assert.deepEqual(pending.take(new Set([later])).triggerTimesMs, [1]);
  pending.commit();
  assert.deepEqual(summary(pending), { ...nothing, conntrackCleanup: true, triggerTimesMs: [2] });
});

Deno.test("PendingChanges cuts no flows later that nobody asked for", () => {
  const pending = new PendingChanges();
  pending.take(new Set([cause]));
  pending.commit();
  assert.deepEqual(summary(pending), nothing);
});
