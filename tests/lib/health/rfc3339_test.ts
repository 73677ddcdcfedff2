import assert from "node:assert/strict";
import { formatTime } from "../../../lib/health/rfc3339.ts";

/** Runs the action where local time is so many minutes behind UTC. */
function inZone<T>(minutesBehind: number, action: () => T): T {
  const real = Date.prototype.getTimezoneOffset;
  Date.prototype.getTimezoneOffset = () => minutesBehind;
  try {
    return action();
  } finally {
    Date.prototype.getTimezoneOffset = real;
  }
}

const time = Date.UTC(2026, 10, 18, 12, 7, 5);

const rows: readonly (readonly [milliseconds: number, minutesBehind: number, text: string])[] = [
  [0, 0, "0001-01-01T00:00:00Z"],
  [time, 0, "2026-11-18T12:07:05Z"],
  [time + 120, 0, "2026-11-18T12:07:05.12Z"],
  [time + 3, 0, "2026-11-18T12:07:05.003Z"],
  [time, -60, "2026-11-18T13:07:05+01:00"],
  [time, -330, "2026-11-18T17:37:05+05:30"],
  [time, 210, "2026-11-18T08:37:05-03:30"],
  [time, 30, "2026-11-18T11:37:05-00:30"],
  [time, -840, "2026-11-19T02:07:05+14:00"],
];

for (const [milliseconds, minutesBehind, text] of rows) {
  Deno.test(`formatTime() writes ${text}`, () => {
    assert.equal(inZone(minutesBehind, () => formatTime(milliseconds)), text);
  });
}
