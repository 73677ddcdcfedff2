/** `--once`, `--dry-run` and `--init-only`. */
import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { FakeNftables } from "../../../lib/kernel/nftables/fake.ts";
import { nodeKernel, ProxyRun, serviceObject, withApiserver, withManifests } from "./proxy_rig.ts";

const established = "net/netfilter/nf_conntrack_tcp_timeout_established";

Deno.test("--once programs both families, leaves the rules and ends with 0 by itself", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.put("services", serviceObject("cart", "fd00:172:30::10"));
    const run = start({ args: ["--once"] });
    assert.equal(await run.ended(), 0);
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10", "fd00:172:30::10"]);
    assert.deepEqual(run.complaints, []);
    await run.until("closed watches", () => apiserver.openWatches.length === 0);
    // Nobody stays to serve: no Event of a start.
    assert.ok(!apiserver.requests.some(({ method }) => method !== "GET"));
  }));

Deno.test("--once tells the first failure and ends with 1; the other family is programmed all the same", () => {
  const tables = new FakeNftables();
  tables.refuse((_operation, { family, name }) =>
    family === "ip" && name === "kube-proxy" ? Errno.ENOMEM : undefined
  );
  return withApiserver(async ({ apiserver, run: start }) => {
    apiserver.put("services", serviceObject("cart", "fd00:172:30::10"));
    const run = start({ kernel: nodeKernel({ tables }), args: ["--once"] });
    assert.equal(await run.ended(), 1);
    assert.deepEqual(await run.clusterIPs(), ["fd00:172:30::10"]);
    assert.match(run.complaints.join("\n"), /"command failed" err=".*out of memory \(ENOMEM\)/);
  });
});

Deno.test("--once programs one family while the kernel is busy with the other one", () => {
  const tables = new FakeNftables();
  const commit = tables.commit.bind(tables);
  const isOther = Promise.withResolvers<void>();
  tables.commit = async (table, ...rest) => {
    const isOfProxy = table.name === "kube-proxy";
    if (isOfProxy && table.family === "ip") await isOther.promise;
    const receipt = await commit(table, ...rest);
    if (isOfProxy && table.family === "ip6") isOther.resolve();
    return receipt;
  };
  return withApiserver(async ({ run: start }) => {
    const run = start({ kernel: nodeKernel({ tables }), args: ["--once"] });
    assert.equal(await run.ended(), 0);
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
  });
});

Deno.test("--once says what the trackers noticed", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.put(
      "services",
      serviceObject("web", "172.30.0.10", { externalIPs: ["nonsense"] }),
    );
    const run = start({ args: ["--once"] });
    assert.equal(await run.ended(), 0);
    assert.equal(run.complaints.length, 1);
    assert.match(
      run.complaints[0],
      /Service shop\/web: its external IP \\"nonsense\\" is no address/,
    );
  }));

Deno.test("--dry-run prints the rules of both families, needs no rights, changes nothing and tells nobody", () => {
  const sysctl = new FakeSysctl({ [established]: "1" });
  const self = new FakeSelf({ hasNetAdmin: false });
  return withApiserver(async ({ apiserver, run: start }) => {
    const run = start({
      kernel: nodeKernel({ sysctl, self, nftablesRefusal: new Error("must not be opened") }),
      args: ["--dry-run", "--conntrack-tcp-timeout-established=1h"],
    });
    assert.equal(await run.ended(), 0, run.stderr);
    assert.match(
      run.stdout,
      /^add table ip kube-proxy$[^]*172\.30\.0\.10[^]*^add table ip6 kube-proxy$/m,
    );
    assert.deepEqual(sysctl.values(), { [established]: "1" });
    assert.ok(apiserver.requests.every(({ method }) => method === "GET"));
  });
});

Deno.test("--dry-run says what the trackers noticed", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.put(
      "services",
      serviceObject("web", "172.30.0.10", { externalIPs: ["nonsense"] }),
    );
    const run = start({ args: ["--dry-run"] });
    assert.equal(await run.ended(), 0);
    assert.match(run.complaints.join(), /its external IP \\"nonsense\\" is no address/);
  }));

Deno.test("--dry-run of files that are broken prints no rules and ends with 1", () =>
  withManifests({}, async (run, folder) => {
    await run.said("In sync");
    await Deno.writeTextFile(`${folder}/broken.yaml`, "kind: [");
    await using dry = new ProxyRun({ args: [`--manifests=${folder}`, "--dry-run"] });
    assert.equal(await dry.ended(), 1);
    assert.equal(dry.stdout, "");
    assert.match(dry.stderr, /1 of 3 files cannot be used.*nothing was changed/);
  }));

Deno.test("--init-only sets the connection table, programs nothing and ends with 0", () => {
  const sysctl = new FakeSysctl({ [established]: "1" });
  return withApiserver(async ({ run: start }) => {
    const run = start({
      kernel: nodeKernel({ sysctl }),
      args: ["--init-only", "--conntrack-tcp-timeout-established=1h"],
    });
    assert.equal(await run.ended(), 0);
    assert.deepEqual(sysctl.values(), { [established]: "3600" });
    assert.deepEqual(run.kernel.tables.commits, []);
  });
});
