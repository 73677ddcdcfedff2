import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { nftText } from "../../../../lib/kernel/nftables/text.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, everyShape, servicePort, snapshotOf } from "./samples.ts";

const { clusterIP, loadBalancer } = addresses.IPv4;
const plain = (name: string, number: number, pods: number) =>
  servicePort({
    name,
    clusterIP: clusterIP(number),
    clusterEndpoints: endpoints("IPv4", ...range(pods).map((pod) => [9, pod + 1] as const)),
  });

for (const family of ipFamilies) {
  Deno.test(`sync() of everything and a restart: nothing is written twice, ${family}`, async () => {
    const harness = new Harness({ family });
    harness.arrange(everyShape(family));
    const first = await harness.all();
    assert.ok(first.full && first.written > 0);
    assert.deepEqual(first.notices, []);
    const generation = await harness.nftables.generation();
    const table = harness.nftables.dump();

    harness.restart();
    assert.deepEqual(await harness.all(), { full: true, written: 0, notices: [] });
    assert.deepEqual(await harness.all(), { full: true, written: 0, notices: [] });
    assert.equal(await harness.drifted(), false);
    assert.equal(await harness.nftables.generation(), generation);
    assert.equal(harness.nftables.dump(), table);
  });
}

Deno.test("sync() hooks a new table into the kernel last of all", async () => {
  const harness = new Harness();
  harness.arrange(everyShape("IPv4"));
  await harness.all();
  const batches = harness.batchesSince(0);
  const hooked = batches.map((batch) =>
    batch.some((operation) => operation.kind === "add-chain" && operation.chain.base !== undefined)
  );
  assert.ok(batches.length > 1);
  assert.deepEqual(hooked, [...batches.slice(1).map(() => false), true]);
});

Deno.test("sync() makes a new table beside leftovers in few commits, the hooks last of all", async () => {
  for (const [count, expected] of [[0, 1], [1, 2], [3100, 3]]) {
    const harness = new Harness({ settings: { leftovers: true } });
    harness.arrange(range(count).map((number) => plain(`s${number}`, number + 1, 2)));
    await harness.all();
    const batches = harness.batchesSince(0);
    assert.equal(batches.length, expected);
    const hooks = batches.findIndex((batch) =>
      batch.some((operation) =>
        operation.kind === "add-chain" && operation.chain.base !== undefined
      )
    );
    assert.equal(hooks, expected - 1);
    const last = count > 0 ? batches[hooks] : [];
    assert.deepEqual(last.filter(({ kind }) => kind === "add-elements"), []);
  }
});

Deno.test("sync() loads many Services in batches of a thousand", async () => {
  const harness = new Harness();
  harness.arrange(range(2500).map((number) => plain(`s${number}`, number + 1, 2)));
  await harness.all();
  const dispatched = harness.batchesSince(0).flatMap((batch) =>
    batch.flatMap((operation) =>
      operation.kind === "add-elements" && operation.set === "service-ips"
        ? [operation.elements.length]
        : []
    )
  );
  assert.deepEqual(dispatched, [1000, 1000, 500]);
});

Deno.test("sync() of a change writes its difference in one batch", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2), plain("b", 2, 2));
  const mark = harness.nftables.commits.length;
  const moved = servicePort({
    name: "a",
    clusterIP: clusterIP(1),
    clusterEndpoints: endpoints("IPv4", [9, 1], [9, 7]),
  });
  assert.deepEqual(await harness.put(moved), { full: false, written: 2, notices: [] });
  const [batch, ...more] = harness.batchesSince(mark);
  assert.deepEqual(more, []);
  assert.equal(
    nftText(tableOf("IPv4"), batch),
    "delete element ip kube-proxy endpoints { 172.30.0.1 . tcp . 80 . 1 }\n" +
      "add element ip kube-proxy endpoints { 172.30.0.1 . tcp . 80 . 1 : 10.128.9.7 . 8080 }\n",
  );
});

Deno.test("sync() makes the chain of a new K before anything leads there", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2));
  const mark = harness.nftables.commits.length;
  await harness.put(plain("a", 1, 3));
  const kinds = harness.batchesSince(mark).map((batch) => batch.map(({ kind }) => kind));
  assert.deepEqual(kinds, [
    ["add-chain", "add-rule", "add-rule"],
    ["add-elements", "delete-elements", "add-elements"],
  ]);
});

Deno.test("maintain() removes the chain of a K that nobody has any more, in a later batch", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2));
  await harness.put(plain("a", 1, 3));
  assert.match(harness.nftables.dump(), /chain pick-2 /);
  await harness.maintain();
  assert.doesNotMatch(harness.nftables.dump(), /chain pick-2 /);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() takes the chain of an old K into use again without writing it", async () => {
  const metrics = {
    skipped: () => {},
    syncFailed: () => assert.fail("no sync failed"),
    cleanupFailed: () => assert.fail("nobody tries to delete what is in use"),
  };
  const harness = new Harness({ metrics });
  await harness.put(plain("a", 1, 2));
  await harness.put(plain("a", 1, 3));
  const mark = harness.nftables.commits.length;
  await harness.put(plain("a", 1, 2));
  const batches = harness.batchesSince(mark).map((batch) => batch.map(({ kind }) => kind));
  assert.deepEqual(batches, [["delete-elements", "add-elements", "delete-elements"]]);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() of a removal takes the dispatch away first", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2), plain("b", 2, 2));
  const mark = harness.nftables.commits.length;
  await harness.remove("ns/a:p80/TCP");
  const sets = harness.batchesSince(mark).flat().map((operation) =>
    operation.kind === "delete-elements" ? operation.set : operation.kind
  );
  assert.deepEqual(sets, ["service-ips", "endpoints", "cluster-ips"]);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() hands an address from one Service to another, whatever their order", async () => {
  for (const [giver, taker] of [["a", "z"], ["z", "a"]]) {
    const harness = new Harness();
    const before = (name: string, vips: readonly string[]) =>
      servicePort({ ...plain(name, name === "a" ? 1 : 2, 2), name, loadBalancerVIPs: vips });
    await harness.put(before(giver, [loadBalancer(1)]), before(taker, []));
    const report = await harness.put(before(giver, []), before(taker, [loadBalancer(1)]));
    assert.equal(report.full, false);
    assert.equal(harness.table(), await harness.cleanStart());
  }
});

Deno.test("sync() keeps a cluster IP and a hairpin that another port still needs", async () => {
  const harness = new Harness();
  const port = (portName: string, number: number) =>
    servicePort({
      name: "a",
      portName,
      port: number,
      clusterIP: clusterIP(1),
      clusterEndpoints: endpoints("IPv4", [1, 1]),
    });
  await harness.put(port("http", 80), port("https", 443));
  await harness.remove("ns/a:http/TCP");
  assert.match(harness.nftables.dump(), /set cluster-ips .* elements = \{ 172\.30\.0\.1 \}/);
  assert.equal(harness.table(), await harness.cleanStart());
  await harness.remove("ns/a:https/TCP");
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

/** Packets that are between the choice of an endpoint and the way out meet it there. */
const hairpinOf = (harness: Harness) =>
  harness.nftables.dump().match(/set hairpin-connections .* elements = \{ (.*?) \}/)?.[1];
const local = (pod: number) =>
  servicePort({
    name: "a",
    clusterIP: clusterIP(1),
    clusterEndpoints: endpoints("IPv4", [1, pod]),
  });
const [first, second] = [1, 2].map((pod) => {
  const { ip } = endpoints("IPv4", [1, pod])[0];
  return `${ip} . ${ip} . tcp . 8080`;
});

Deno.test("sync() leaves a hairpin until the next change", async () => {
  const harness = new Harness();
  await harness.put(local(1));
  await harness.put(local(2));
  assert.equal(hairpinOf(harness), `${first}, ${second}`);
  const mark = harness.nftables.commits.length;
  await harness.put(plain("b", 2, 1));
  assert.equal(harness.batchesSince(mark).length, 1);
  assert.equal(hairpinOf(harness), second);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() takes a hairpin that is still there into use again without writing it", async () => {
  const harness = new Harness();
  await harness.put(local(1));
  await harness.put(local(2));
  const mark = harness.nftables.commits.length;
  await harness.put(local(1));
  const written = harness.batchesSince(mark).flat().flatMap((operation) =>
    "set" in operation ? [operation.set] : []
  );
  assert.deepEqual(written, ["endpoints", "endpoints"]);
  assert.equal(hairpinOf(harness), `${first}, ${second}`);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("drifted() takes no hairpin that is to go for somebody else's; maintain() removes it", async () => {
  const harness = new Harness();
  await harness.put(local(1));
  await harness.put(local(2));
  await harness.nftables.commit({ family: "ip", name: "another" }, [{ kind: "add-table" }]);
  assert.equal(await harness.drifted(), false);
  await harness.maintain();
  assert.equal(hairpinOf(harness), second);
});

Deno.test("a hairpin that a sync finds and nobody needs leaves, also where the rest of the table is right", async () => {
  const harness = new Harness();
  await harness.put(local(1), plain("b", 2, 1));
  harness.nftables.failNextBatch(Errno.EINTR);
  await harness.remove(local(1).key);
  await harness.maintain();
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() of some changes never walks the Services", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2), plain("b", 2, 2));
  const services = new Map([["ns/a:p80/TCP", plain("a", 1, 4)]]);
  const walks = () => {
    throw new Error("somebody walked all Services");
  };
  const unwalkable = Object.assign(services, {
    [Symbol.iterator]: walks,
    entries: walks,
    forEach: walks,
    keys: walks,
    values: walks,
  });
  const snapshot = { ...snapshotOf("IPv4", []), services: unwalkable };
  const changes = {
    kind: "some",
    services: new Set(["ns/a:p80/TCP"]),
    settings: false,
  } as const;
  const report = await harness.writer.sync(
    { ...snapshot, settings: harness.snapshot.settings },
    changes,
    new AbortController().signal,
  );
  assert.equal(report.full, false);
  assert.match(harness.nftables.dump(), /172\.30\.0\.1 \. tcp \. 80 : goto pick-4/);
});

Deno.test("sync() of other settings rewrites the chains that they are about", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2));
  const mark = harness.nftables.commits.length;
  const report = await harness.settings({
    nodePortAddresses: { kind: "listed", addresses: ["192.168.0.9"] },
    serviceCIDRs: ["172.30.0.0/16", "172.31.0.0/16"],
  });
  assert.equal(report.full, false);
  const touched = harness.batchesSince(mark).flat().map((operation) => {
    if (operation.kind === "flush-chain") return operation.chain;
    return operation.kind.endsWith("elements") ? operation.kind : undefined;
  });
  assert.deepEqual(touched.filter((name) => name !== undefined), [
    "cluster-ips-check",
    "add-elements",
    "delete-elements",
  ]);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() follows leftovers of another mode as they come and go", async () => {
  const harness = new Harness();
  await harness.put(...everyShape("IPv4"));
  for (const leftovers of [true, false]) {
    await harness.settings({ leftovers });
    assert.equal(/goto keep-destination/.test(harness.nftables.dump()), leftovers);
    assert.equal(harness.table(), await harness.cleanStart());
  }
});

Deno.test("sync() with more than a thousand changes follows them all", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2));
  const report = await harness.put(...range(1200).map((n) => plain(`s${n}`, n + 10, 2)));
  assert.deepEqual([report.full, report.notices], [false, []]);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() stops between batches when it is aborted, and the next one completes it", async () => {
  const harness = new Harness();
  harness.arrange(range(2500).map((number) => plain(`s${number}`, number + 1, 2)));
  const controller = new AbortController();
  harness.nftables.refuse(() => {
    if (harness.nftables.commits.length === 3) controller.abort();
    return undefined;
  });
  await assert.rejects(harness.sync({ kind: "all" }, controller.signal), { name: "AbortError" });
  assert.equal(harness.nftables.commits.length, 4);
  assert.doesNotMatch(harness.nftables.dump(), /hook/);
  const report = await harness.sync({ kind: "some", services: new Set(), settings: false });
  assert.ok(report.full);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("a writer that is disposed leaves its rules", async () => {
  const harness = new Harness();
  await harness.put(plain("a", 1, 2));
  const table = harness.nftables.dump();
  await harness.writer[Symbol.asyncDispose]();
  assert.equal(harness.nftables.dump(), table);
});

function range(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index);
}
