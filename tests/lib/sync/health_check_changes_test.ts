import assert from "node:assert/strict";
import { HealthCheckChanges } from "../../../lib/sync/health_check_changes.ts";

const check = (name: string, port: number, localEndpoints: number) =>
  [`test/${name}`, { namespace: "test", name, port, localEndpoints }] as const;

Deno.test("HealthCheckChanges tells what differs from the last call, and what is gone", () => {
  const changes = new HealthCheckChanges();
  const [a, b] = [check("a", 31_000, 1), check("b", 31_001, 2)];
  assert.deepEqual(changes.since(new Map([a, b])), new Map([a, b]));
  assert.deepEqual(changes.since(new Map([a, b])), new Map());
  const fewer = check("b", 31_001, 1);
  const moved = check("a", 31_005, 1);
  assert.deepEqual(changes.since(new Map([moved, fewer])), new Map([moved, fewer]));
  assert.deepEqual(changes.since(new Map([moved])), new Map([["test/b", undefined]]));
  assert.deepEqual(changes.since(new Map([moved])), new Map());
});
