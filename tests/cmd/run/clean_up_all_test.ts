import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { ProxyRun } from "./proxy_rig.ts";

const ours = { family: "ip", name: "kube-proxy" } as const;

Deno.test("--cleanup removes what every mode left, and needs no apiserver", async () => {
  const kernel = new FakeKernel();
  await kernel.tables.commit(ours, [{ kind: "add-table" }]);
  await using run = new ProxyRun({ commandLine: ["--cleanup", "--proxy-mode=nftables"], kernel });
  assert.equal(await run.ended(), 0, run.stderr);
  assert.deepEqual(await kernel.tables.listTables(), []);
  assert.match(run.stdout, /nftables mode: removed 1 thing\n/);
});

Deno.test("--cleanup fails with 1, whatever the reason", async () => {
  const kernel = new FakeKernel();
  await kernel.tables.commit(ours, [{ kind: "add-table" }]);
  kernel.tables.refuse(() => Errno.EBUSY);
  await using run = new ProxyRun({ commandLine: ["--cleanup"], kernel });
  assert.equal(await run.ended(), 1);
  assert.match(run.complaints[0], /Cannot clean up everything; what remains is listed above/);
  const self = new FakeSelf({ hasNetAdmin: false });
  await using unable = new ProxyRun({
    commandLine: ["--cleanup"],
    kernel: new FakeKernel({ self }),
  });
  assert.equal(await unable.ended(), 1);
  assert.match(unable.complaints[0], /lacks CAP_NET_ADMIN/);
});
