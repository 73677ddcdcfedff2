import assert from "node:assert/strict";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import type { ServiceChange } from "../../../../lib/writers/nftables/plan.ts";
import { sliceChanges } from "../../../../lib/writers/nftables/slices.ts";
import { Harness } from "./harness.ts";
import { addresses, servicePort } from "./samples.ts";

const { clusterIP, external } = addresses.IPv4;

/** A service port with so many endpoints. */
function web(number: number, count: number, rest: Partial<ServicePort> = {}): ServicePort {
  const clusterEndpoints = Array.from({ length: count }, (_, i) => ({
    ip: `10.128.${i >> 8}.${i & 255}`,
    port: 8080,
    isLocal: false,
  }));
  const name = `s${number}`;
  return { ...servicePort({ name, clusterIP: clusterIP(number), clusterEndpoints }), ...rest };
}

const coming = (after: ServicePort): ServiceChange => ({
  key: after.key,
  before: undefined,
  after,
});
const going = (before: ServicePort): ServiceChange => ({
  key: before.key,
  before,
  after: undefined,
});
const names = (changes: readonly ServiceChange[]) => changes.map(({ key }) => key.slice(3, -8));

Deno.test("sliceChanges() leaves what is short in one slice and in its order", () => {
  const changes = [coming(web(2, 5)), coming(web(1, 1)), going(web(3, 2))];
  assert.deepEqual(sliceChanges(changes), [changes]);
  assert.deepEqual(sliceChanges([]), [[]]);
});

Deno.test("sliceChanges() puts short changes first, and long ones into slices of their own", () => {
  const giants = [1, 2, 3].map((number) => going(web(number, 15_000)));
  const slices = sliceChanges([...giants, coming(web(9, 2)), coming(web(8, 30))]);
  assert.deepEqual(slices.map(names), [["s9", "s8"], ["s1"], ["s2"], ["s3"]]);
});

Deno.test("sliceChanges() counts endpoints for each frontend", () => {
  const externalIPs = [external(1), external(2)];
  const wide = [1, 2].map((number) => going(web(number, 4_000, { externalIPs, nodePort: number })));
  assert.deepEqual(sliceChanges(wide).map(names), [["s1"], ["s2"]]);
  const narrow = [1, 2].map((number) => going(web(number, 4_000)));
  assert.deepEqual(sliceChanges(narrow).length, 1);
});

Deno.test("sliceChanges() puts no more than five thousand elements into a slice of several", () => {
  // Each has an element of its own for each frontend too, and one for each endpoint.
  const many = Array.from({ length: 30 }, (_, i) => coming(web(i + 1, 998)));
  assert.deepEqual(sliceChanges(many).map(({ length }) => length), Array(6).fill(5));
  const more = Array.from({ length: 30 }, (_, i) => coming(web(i + 1, 999)));
  assert.deepEqual(sliceChanges(more).map(({ length }) => length), [...Array(7).fill(4), 2]);
});

Deno.test("sliceChanges() knows that a change of endpoints is shorter than their coming", () => {
  const changes = [1, 2, 3].map((number): ServiceChange => {
    const after = web(number, 15_000);
    return { key: after.key, before: web(number, 14_999), after };
  });
  assert.equal(sliceChanges(changes).length, 1);
});

Deno.test("sliceChanges() counts what comes and goes of a list that was shorter or longer before", () => {
  const changes = [1, 2].map((number): ServiceChange => {
    const [after, before] = [web(number, 15_000), web(number, 15 * number)];
    return number === 1
      ? { key: after.key, before, after }
      : { key: after.key, before: after, after: before };
  });
  assert.deepEqual(sliceChanges(changes).map(names), [["s2"], ["s1"]]);
});

Deno.test("sliceChanges() puts no more than a thousand changes into a slice", () => {
  const many = Array.from({ length: 2_500 }, (_, i) => coming(web(i + 1, 1)));
  assert.deepEqual(sliceChanges(many).map(({ length }) => length), [1_000, 1_000, 500]);
});

for (
  const [what, rest] of [
    ["a cluster IP", {}],
    ["an external IP", { clusterIP: "", externalIPs: [external(7)] }],
    ["a load balancer address", { clusterIP: "", loadBalancerVIPs: [external(7)] }],
    ["a node port", { clusterIP: "", nodePort: 30_007 }],
  ] as const
) {
  Deno.test(`sliceChanges() writes ${what} that goes from one to another in one slice`, () => {
    const giver = web(1, 15_000, rest);
    const taker = web(2, 1, { ...rest, clusterIP: "clusterIP" in rest ? "" : clusterIP(1) });
    const other = going(web(3, 15_000));
    const slices = sliceChanges([going(giver), other, coming(taker), coming(web(4, 1))]);
    assert.deepEqual(slices.map((slice) => names(slice).sort()), [["s4"], ["s3"], ["s1", "s2"]]);
  });
}

Deno.test("sync() of long changes leaves the rest to the next one when its turn is over", async () => {
  const harness = new Harness();
  const giants = [1, 2, 3].map((number) => web(number, 15_000));
  await harness.put(...giants, web(9, 1));
  let elapsed = 0;
  harness.clock.monotonic = () => elapsed += 60;
  const keys = giants.map(({ key }) => key);
  harness.arrange([web(9, 2)], keys);
  const services = new Set([...keys, web(9, 1).key]);
  const { full, unfinished = new Set<string>() } = await harness.sync({
    kind: "some",
    services,
    settings: false,
  });
  assert.equal(full, false);
  assert.deepEqual([...unfinished].sort(), keys);
  let syncs = 0;
  for (let left = unfinished; left.size > 0; syncs++) {
    const rest = await harness.sync({ kind: "some", services: left, settings: false });
    left = new Set(rest.unfinished);
  }
  assert.equal(syncs, 3);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});
