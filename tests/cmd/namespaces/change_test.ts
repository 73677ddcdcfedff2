/** What a person and a script see of `opt-out` and `opt-in`, beside a fake apiserver. */
import assert from "node:assert/strict";
import { FakeCluster, label, run } from "./fake_cluster.ts";

const answers: readonly { readonly typed: string; readonly acts: boolean }[] = [
  { typed: "y\n", acts: true },
  { typed: " YES \n", acts: true },
  { typed: "n\n", acts: false },
  { typed: "\n", acts: false },
  { typed: "yep\n", acts: false },
  { typed: "", acts: false },
];

Deno.test("on a terminal opt-out asks, and only yes means yes", async (test) => {
  for (const { typed, acts } of answers) {
    await test.step(JSON.stringify(typed), async () => {
      const cluster = new FakeCluster({ shop: undefined });
      const { exitCode, stdout, stderr } = await run(["opt-out", "shop"], cluster, { typed });
      assert.match(stdout, /shop: what stops on every node/);
      assert.match(stderr, /^Opt out shop\? \[y\/N\] /);
      assert.equal(exitCode, acts ? 0 : 1);
      assert.equal(cluster.written.length, acts ? 1 : 0);
      if (!acts) assert.match(stderr, /Nothing was changed\n$/);
    });
  }
});

Deno.test("--yes does not ask, and neither does a change of nothing", async () => {
  const cluster = new FakeCluster({ shop: undefined, mesh: "disabled" });
  const asked = await run(["opt-out", "shop", "mesh", "--yes"], cluster, { typed: "" });
  assert.doesNotMatch(asked.stderr, /y\/N/);
  assert.equal(asked.exitCode, 0);
  const nothing = await run(["opt-out", "mesh"], cluster);
  assert.equal(nothing.exitCode, 0);
  assert.match(nothing.stdout, /mesh: nothing to do, it is out already/);
});

Deno.test("opt-out applies with the uid, opt-in patches the version that was read", async () => {
  const cluster = new FakeCluster({ shop: undefined, mesh: "disabled" });
  await run(["opt-out", "shop", "--yes"], cluster);
  await run(["opt-in", "mesh", "--yes"], cluster);
  const [apply, patch] = cluster.written;
  assert.equal(apply.headers.get("content-type"), "application/apply-patch+yaml");
  assert.equal(apply.query.get("fieldManager"), "kube-proxy-namespaces");
  assert.equal(apply.query.get("force"), null);
  assert.deepEqual(JSON.parse(apply.body).metadata, {
    name: "shop",
    uid: "uid-shop",
    labels: { [label]: "disabled" },
  });
  assert.equal(patch.headers.get("content-type"), "application/merge-patch+json");
  assert.deepEqual(JSON.parse(patch.body), {
    metadata: { resourceVersion: "7", labels: { [label]: null } },
  });
});

Deno.test("--dry-run lets the apiserver check and keeps nothing", async () => {
  const cluster = new FakeCluster({ shop: undefined });
  const { exitCode } = await run(["opt-out", "shop", "--dry-run"], cluster);
  assert.equal(exitCode, 0);
  assert.equal(cluster.written[0].query.get("dryRun"), "All");
});

Deno.test("one refusal keeps every namespace as it is", async () => {
  const cluster = new FakeCluster({ shop: undefined, "kube-system": undefined });
  const asked = await run(["opt-out", "shop", "kube-system", "--yes"], cluster);
  assert.equal(asked.exitCode, 1);
  assert.match(asked.stderr, /Cannot opt out "kube-system".*\nNothing was changed\n$/);
  assert.deepEqual(cluster.written, []);
});

Deno.test("a write that fails does not hide what was done", async () => {
  const cluster = new FakeCluster({ a: undefined, b: undefined, c: undefined });
  cluster.refuses = new Map([["b", 409]]);
  const asked = await run(["opt-out", "a", "b", "c", "--yes", "-o", "json"], cluster);
  assert.equal(asked.exitCode, 1);
  assert.match(asked.stderr, /Error: Cannot opt out "b": it changed meanwhile/);
  const { schemaVersion, namespaces } = JSON.parse(asked.stdout);
  assert.equal(schemaVersion, 1);
  assert.deepEqual(
    namespaces.map(({ name, result }: Readonly<Record<string, string>>) => [name, result]),
    [["a", "changed"], ["b", "failed"], ["c", "changed"]],
  );
});

Deno.test("without a terminal and without --yes JSON says that nobody was asked", async () => {
  const cluster = new FakeCluster({ shop: undefined });
  const { exitCode, stdout } = await run(["opt-out", "shop", "-o", "json"], cluster);
  assert.equal(exitCode, 1);
  assert.equal(JSON.parse(stdout).namespaces[0].result, "not-asked");
  assert.deepEqual(cluster.written, []);
});

Deno.test("wrong usage is exit code 2", async () => {
  const cluster = new FakeCluster({});
  assert.equal((await run(["opt-out"], cluster)).exitCode, 2);
  assert.equal((await run(["opt-in", "shop", "--force"], cluster)).exitCode, 2);
});

Deno.test("what stays as it is, is said; JSON has standard output for itself", async () => {
  const cluster = new FakeCluster({ shop: undefined, mesh: "disabled" });
  const asked = await run(["opt-out", "shop", "mesh", "--yes", "-o", "json"], cluster);
  assert.equal(asked.exitCode, 0);
  assert.match(asked.stderr, /^mesh: nothing to do, it is out already\nshop: what stops on every/);
  assert.match(asked.stderr, /\nNodes whose proxy honours the label: unknown\./);
  const { action, dryRun, namespaces, proxies } = JSON.parse(asked.stdout);
  assert.deepEqual([action, dryRun, proxies.total], ["opt-out", false, 0]);
  assert.deepEqual(
    namespaces.map(({ name, result, message, inventory }: Readonly<Record<string, unknown>>) => [
      name,
      result,
      message,
      inventory !== undefined,
    ]),
    [["mesh", "unchanged", "is out already", false], ["shop", "changed", undefined, true]],
  );
});

Deno.test("a change that is refused tells each reason, also as JSON", async () => {
  const cluster = new FakeCluster({ "kube-system": undefined, shop: undefined });
  const one = await run(["opt-out", "kube-system", "--yes"], cluster);
  assert.equal(one.exitCode, 1);
  assert.doesNotMatch(one.stderr, /Nothing was changed/);
  const both = await run(["opt-out", "kube-system", "shpo", "--yes", "-o", "json"], cluster);
  assert.match(both.stderr, /Error: .*kube-system.*\nError: .*shpo.*shop.*\nNothing was changed\n/);
  assert.deepEqual(
    JSON.parse(both.stdout).namespaces.map(({ result }: Readonly<Record<string, string>>) =>
      result
    ),
    ["refused", "refused"],
  );
});

Deno.test("the question names few namespaces and counts many", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const cluster = new FakeCluster(Object.fromEntries(names.map((name) => [name, undefined])));
  const ask = async (some: readonly string[]) =>
    (await run(["opt-out", ...some], cluster, { typed: "n\n" })).stderr;
  assert.match(await ask(names.slice(0, 5)), /^Opt out a, b, c, d, e\? \[y\/N\] /);
  assert.match(await ask(names), /^Opt out 6 namespaces\? \[y\/N\] /);
  const back = new FakeCluster({ mesh: "disabled" });
  const asked = await run(["opt-in", "mesh"], back, { typed: "y\n" });
  assert.match(asked.stderr, /^Opt in mesh\? \[y\/N\] $/);
  assert.match(asked.stdout, /mesh: what comes back on every node[^]*\nmesh: opted in\n$/);
});

Deno.test("without a terminal nobody is asked, and a dry run needs no answer", async () => {
  const cluster = new FakeCluster({ shop: undefined });
  const asked = await run(["opt-out", "shop"], cluster);
  assert.equal(asked.exitCode, 1);
  assert.match(asked.stderr, /^Error: Nothing was changed: there is no terminal .*; give --yes\n$/);
  const dry = await run(["opt-out", "shop", "--dry-run", "-o", "json"], cluster);
  assert.equal(dry.exitCode, 0);
  assert.equal(JSON.parse(dry.stdout).namespaces[0].result, "would-change");
  const told = await run(["opt-out", "shop", "--dry-run"], cluster);
  assert.match(told.stdout, /\nshop: would be opted out \(dry run\)\n$/);
});

Deno.test("without the right to write the role that grants it is printed", async () => {
  const cluster = new FakeCluster({ shop: undefined });
  cluster.refuses = new Map([["shop", 403]]);
  const { exitCode, stderr } = await run(["opt-out", "shop", "--yes"], cluster);
  assert.equal(exitCode, 1);
  assert.match(stderr, /^Error: .*the role below grants.*\napiVersion: rbac/);
  cluster.answers = { "/api/v1/namespaces/shop": 403 };
  const unread = await run(["opt-in", "shop", "--yes"], cluster);
  assert.match(unread.stderr, /^Error: .*the role below[^]*kube-proxy:namespaces-opt-in/);
});
