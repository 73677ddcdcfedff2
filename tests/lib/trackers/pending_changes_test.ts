import assert from "node:assert/strict";
import { PendingChanges } from "../../../lib/trackers/pending_changes.ts";

function summary(pending: PendingChanges) {
  const { services, settings, conntrackCleanup, triggerTimesMs } = pending.take();
  return { services: [...services].sort(), settings, conntrackCleanup, triggerTimesMs };
}

const nothing = { services: [], settings: false, conntrackCleanup: false, triggerTimesMs: [] };
const cause = {};

function filled(): PendingChanges {
  const pending = new PendingChanges();
  pending.addService("a");
  pending.addSettings();
  pending.addConntrackCleanup();
  pending.addTriggerTime(cause, 1);
  return pending;
}

const everything = {
  services: ["a"],
  settings: true,
  conntrackCleanup: true,
  triggerTimesMs: [1],
};

Deno.test("PendingChanges gives nothing again after a commit", () => {
  const pending = filled();
  assert.deepEqual(summary(pending), everything);
  pending.commit();
  assert.deepEqual(summary(pending), nothing);
});

Deno.test("PendingChanges gives everything again after a restore, with what came meanwhile", () => {
  const pending = filled();
  pending.take();
  pending.addService("b");
  pending.addTriggerTime(cause, 2);
  pending.restore();
  assert.deepEqual(summary(pending), {
    ...everything,
    services: ["a", "b"],
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
