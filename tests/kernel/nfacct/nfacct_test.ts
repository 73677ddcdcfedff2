import assert from "node:assert/strict";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { FakeNfacct } from "../../../lib/kernel/nfacct/fake_nfacct.ts";
import { NetlinkNfacct } from "../../../lib/kernel/nfacct/netlink_nfacct.ts";
import type { Nfacct } from "../../../lib/kernel/nfacct/nfacct.ts";
import { XtNamespace } from "../xtables/namespace.ts";

Deno.test("a counter is made once, read, and removed unless a rule uses it", async (t) => {
  await using namespace = await XtNamespace.create();
  const rule = ["INPUT", "-i", "lo", "-m", "nfacct", "--nfacct-name", "test_pkts"];
  const fake = new FakeNfacct();
  const kernel: Nfacct & { use(isUsed: boolean): Promise<void> } = Object.assign(
    new NetlinkNfacct(),
    {
      use: async (isUsed: boolean) => {
        await namespace.run(["iptables-nft", isUsed ? "-A" : "-D", ...rule]);
      },
    },
  );
  const pretended = Object.assign(fake, {
    use: (isUsed: boolean) => {
      if (isUsed) fake.used.add("test_pkts");
      else fake.used.delete("test_pkts");
      return Promise.resolve();
    },
  });
  for (const [name, counters] of [["kernel", kernel], ["fake", pretended]] as const) {
    await t.step(name, async () => {
      const ask = <T>(question: () => T extends PromiseLike<unknown> ? never : T) =>
        inNetworkNamespace(`/run/netns/${namespace.name}`, question);
      assert.equal(ask(() => counters.read("test_pkts")), undefined);
      ask(() => counters.ensure("test_pkts"));
      ask(() => counters.ensure("test_pkts"));
      assert.deepEqual(ask(() => counters.read("test_pkts")), { packets: 0n, bytes: 0n });
      await counters.use(true);
      assert.equal(ask(() => counters.remove("test_pkts")), false);
      await counters.use(false);
      assert.equal(ask(() => counters.remove("test_pkts")), true);
      assert.equal(ask(() => counters.remove("test_pkts")), true);
      assert.equal(ask(() => counters.read("test_pkts")), undefined);
    });
  }
});

Deno.test("a counter counts what its rule meets", async () => {
  await using namespace = await XtNamespace.create();
  namespace.addCounter("test_pkts");
  await namespace.run(["ip", "link", "set", "lo", "up"]);
  await namespace.run([
    "iptables-nft",
    "-A",
    "INPUT",
    "-m",
    "nfacct",
    "--nfacct-name",
    "test_pkts",
  ]);
  await namespace.run(["bash", "-c", "echo hello >/dev/udp/127.0.0.1/9"]);
  const value = inNetworkNamespace(
    `/run/netns/${namespace.name}`,
    () => new NetlinkNfacct().read("test_pkts"),
  );
  // The datagram of 34 bytes, and the answer that nobody listens.
  assert.ok(value && value.packets >= 1n && value.bytes >= 34n, String(value?.packets));
});
