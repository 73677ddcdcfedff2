/** SIGTERM at every step of a proxy's life: it ends with 0 and in time, and says nothing of errors. */
import assert from "node:assert/strict";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { FakeNftables } from "../../../lib/kernel/nftables/fake.ts";
import type { FakeApiserver, SeenRequest } from "../../fakes/apiserver.ts";
import {
  kubeconfigFor,
  nodeKernel,
  nodeName,
  type ProxyRun,
  withApiserver,
  withManifests,
} from "./proxy_rig.ts";

const never = new Promise<Response>(() => {});

/** Requests that the filter takes are never answered. */
function silence(apiserver: FakeApiserver, filter: (request: SeenRequest) => boolean): void {
  apiserver.override = (request) => filter(request) ? never : undefined;
}

function hasAsked({ requests }: FakeApiserver, path: string): boolean {
  return requests.some((request) => request.path.endsWith(path));
}

async function endsQuietly(run: ProxyRun): Promise<void> {
  assert.equal(await run.end(), 0, run.stderr);
  assert.deepEqual(run.complaints, []);
}

Deno.test("SIGTERM while the apiserver never answers", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    silence(apiserver, () => true);
    const run = start();
    await run.until("a request", () => apiserver.requests.length > 0);
    await endsQuietly(run);
    assert.deepEqual(run.kernel.tables.commits, []);
  }));

Deno.test("SIGTERM while something that is no apiserver takes the connection and stays silent", () =>
  withApiserver(async ({ apiserver: { authority }, folder, run: start }) => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const url = `https://127.0.0.1:${listener.addr.port}`;
    await Deno.writeTextFile(`${folder}/kubeconfig`, kubeconfigFor({ authority, url }));
    const run = start();
    using _connection = await listener.accept();
    await endsQuietly(run);
  }));

Deno.test("SIGTERM before the node is known", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.delete("nodes", { name: nodeName });
    const sysctl = new FakeSysctl({ "net/netfilter/nf_conntrack_tcp_timeout_established": "1" });
    const run = start({
      kernel: nodeKernel({ sysctl }),
      args: ["--conntrack-tcp-timeout-established=1h"],
    });
    await run.until("watches", () => apiserver.openWatches.length >= 5);
    await endsQuietly(run);
    assert.deepEqual(run.kernel.tables.commits, []);
    assert.deepEqual(Object.values(sysctl.values()), ["1"]);
  }));

Deno.test("SIGTERM while Services are listed", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    silence(apiserver, ({ path }) => path.endsWith("/services"));
    const run = start();
    await run.said("Starting kube-proxy");
    await run.until("a request", () => hasAsked(apiserver, "/services"));
    await endsQuietly(run);
    assert.deepEqual(await run.clusterIPs(), []);
  }));

for (const way of ["--once", "--dry-run"]) {
  Deno.test(`SIGTERM while Services are listed, with ${way}`, () =>
    withApiserver(async ({ apiserver, run: start }) => {
      silence(apiserver, ({ path }) => path.endsWith("/services"));
      const run = start({ args: [way] });
      await run.until("a request", () => hasAsked(apiserver, "/services"));
      await endsQuietly(run);
      assert.equal(run.stdout, "");
      assert.deepEqual(run.kernel.tables.commits, []);
    }));
}

/** A kernel that keeps whoever programs it waiting for the answer. */
class SlowNftables extends FakeNftables {
  readonly asked = Promise.withResolvers<void>();
  readonly go = Promise.withResolvers<void>();

  override async commit(...args: Parameters<FakeNftables["commit"]>) {
    if (args[0].name === "kube-proxy") {
      this.asked.resolve();
      await this.go.promise;
    }
    return await super.commit(...args);
  }
}

for (const way of [[], ["--once"]]) {
  Deno.test(`SIGTERM during the first sync ${way}: what the kernel has begun is awaited`, () => {
    const tables = new SlowNftables();
    const options = { kernel: nodeKernel({ tables }), args: way };
    return withManifests(options, async (run) => {
      await tables.asked.promise;
      run.stop();
      tables.go.resolve();
      await endsQuietly(run);
      assert.ok(!run.stderr.includes("In sync"));
    });
  });
}

Deno.test("SIGTERM at rest, while an Event waits for an apiserver that went silent", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    silence(apiserver, ({ path }) => path.endsWith("/events"));
    const run = start();
    await run.said("In sync");
    await run.until("the Event", () => hasAsked(apiserver, "/events"));
    await endsQuietly(run);
    // What was cut off is tried once more, for a moment.
    const tries = apiserver.requests.filter(({ path }) => path.endsWith("/events"));
    assert.equal(tries.length, 2);
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
  }));

Deno.test("SIGTERM closes the pages at once", () =>
  withManifests({}, async (run) => {
    await run.said("In sync");
    const page = `http://${run.address}:10256/livez`;
    const answer = await fetch(page);
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
    await endsQuietly(run);
    await assert.rejects(fetch(page), TypeError);
  }));
