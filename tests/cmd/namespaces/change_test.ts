/** What a person and a script see of `opt-out` and `opt-in`, beside a fake apiserver. */
import assert from "node:assert/strict";
import type { Surroundings } from "../../../cmd/command.ts";
import { dispatch } from "../../../cmd/dispatch.ts";
import { createOptInCommand } from "../../../cmd/namespaces/opt_in.ts";
import { createOptOutCommand } from "../../../cmd/namespaces/opt_out.ts";
import { FakeApiserver, type SeenRequest } from "../../fakes/apiserver.ts";
import { createTestClient } from "../../fakes/kube_client.ts";

const label = "networking.k8s.io/kube-proxy";

/** Namespaces by name with the value of their label, and what was written. */
class FakeCluster {
  readonly written: SeenRequest[] = [];
  readonly #labels: ReadonlyMap<string, string | undefined>;
  /** Names whose writes are refused with this status. */
  refuses: ReadonlyMap<string, number> = new Map();

  constructor(labels: Readonly<Record<string, string | undefined>>) {
    this.#labels = new Map(Object.entries(labels));
  }

  answer(request: SeenRequest): Response | undefined {
    const name = /^\/api\/v1\/namespaces(?:\/([^/]*))?$/.exec(request.path)?.[1];
    if (request.path === "/api/v1/namespaces") {
      return Response.json({ items: [...this.#labels.keys()].map((each) => this.#object(each)) });
    }
    if (name === undefined) return undefined;
    if (!this.#labels.has(name)) return Response.json({ code: 404 }, { status: 404 });
    if (request.method === "PATCH") {
      const status = this.refuses.get(name);
      if (status !== undefined) return Response.json({ code: status }, { status });
      this.written.push(request);
    }
    return Response.json(this.#object(name));
  }

  #object(name: string) {
    const value = this.#labels.get(name);
    const labels = value === undefined ? {} : { [label]: value };
    return { metadata: { name, uid: `uid-${name}`, resourceVersion: "7", labels } };
  }
}

interface Asked {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  args: readonly string[],
  cluster: FakeCluster,
  terminal?: { readonly typed: string },
): Promise<Asked> {
  await using server = await FakeApiserver.start();
  server.override = (request) => cluster.answer(request);
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
    contentType: "application/json",
  });
  const connect = () => Promise.resolve(client);
  const said = { stdout: "", stderr: "" };
  const output = (stream: "stderr" | "stdout") => ({
    write: (text: string) => void (said[stream] += text),
    isTerminal: terminal !== undefined,
  });
  const surroundings: Surroundings = {
    stdin: {
      readable: ReadableStream.from([new TextEncoder().encode(terminal?.typed ?? "")]),
      isTerminal: terminal !== undefined,
    },
    stdout: output("stdout"),
    stderr: output("stderr"),
    pid: 1,
    env: () => undefined,
    signal: new AbortController().signal,
  };
  const entries = [
    { words: ["opt-out"], summary: "", load: () => Promise.resolve(createOptOutCommand(connect)) },
    { words: ["opt-in"], summary: "", load: () => Promise.resolve(createOptInCommand(connect)) },
  ];
  const exitCode = await dispatch(args, { entries, groups: [] }, surroundings);
  transport[Symbol.dispose]();
  return { exitCode, ...said };
}

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
