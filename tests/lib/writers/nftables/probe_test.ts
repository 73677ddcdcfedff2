import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import { probe } from "../../../../lib/writers/nftables/probe.ts";

for (const family of ipFamilies) {
  Deno.test(`probe() of a kernel that can do everything, ${family}`, async () => {
    const nftables = new FakeNftables();
    assert.deepEqual(await probe(nftables, family), { kind: "supported" });
  });
}

Deno.test("probe() changes nothing", async () => {
  const nftables = new FakeNftables();
  const generation = await nftables.generation();
  await probe(nftables, "IPv4");
  assert.equal(await nftables.generation(), generation);
  assert.deepEqual(await nftables.listTables(), []);
});

Deno.test("probe() names what the kernel lacks", async () => {
  const nftables = new FakeNftables();
  nftables.refuse((operation) =>
    operation.kind === "add-rule" && operation.rule.chain === "pick-1" ? Errno.ENOENT : undefined
  );
  const answer = await probe(nftables, "IPv4");
  assert.equal(answer.kind, "unsupported");
  assert.match(answer.reason, /add rule to chain "pick-1" .*numgen.*no such object \(ENOENT\)/);
});

Deno.test("probe() without rights cannot tell", async () => {
  const nftables = new FakeNftables();
  nftables.failNextBatch(Errno.EPERM);
  const answer = await probe(nftables, "IPv4");
  assert.equal(answer.kind, "unknown");
  assert.match(answer.reason, /run as root or with CAP_NET_ADMIN/);
});
