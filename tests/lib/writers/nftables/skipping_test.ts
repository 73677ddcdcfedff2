import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import type { NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { Harness } from "./harness.ts";
import { addresses, endpoints, servicePort } from "./samples.ts";

const { clusterIP } = addresses.IPv4;
const web = (number: number, affinitySeconds = 0) =>
  servicePort({
    name: `web${number}`,
    clusterIP: clusterIP(number),
    affinitySeconds,
    clusterEndpoints: endpoints("IPv4", [9, 1], [9, 2]),
  });

/** The operation mentions the address. */
function mentions(operation: NftOperation, address: string): boolean {
  return operation.kind === "add-elements" &&
    operation.elements.some(({ key }) => key.includes(address));
}

const skipped = (name: string, cause: string) => ({
  service: `ns/${name}:p80/TCP`,
  message:
    `Cannot program Service port "ns/${name}:p80/TCP": ${cause}; it is tried again when it ` +
    "changes and whenever the table is compared as a whole",
});

for (const leftovers of [false, true]) {
  const where = leftovers ? "beside leftovers" : "alone";

  Deno.test(`sync() finds the Service port whose elements the kernel refuses, and skips it, ${where}`, async () => {
    const harness = new Harness({ settings: { leftovers } });
    const all = Array.from({ length: 300 }, (_, index) => web(index + 1));
    harness.nftables.refuse((operation) =>
      mentions(operation, clusterIP(137)) ? Errno.EINVAL : undefined
    );
    harness.arrange(all);
    const { notices } = await harness.all();
    assert.deepEqual(notices, [skipped("web137", "invalid argument (EINVAL)")]);
    harness.arrange([], ["ns/web137:p80/TCP"]);
    assert.equal(harness.table(), await harness.cleanStart());
  });
}

Deno.test("sync() skips several Service ports and keeps the rest going", async () => {
  const harness = new Harness();
  const bad = [3, 4, 99].map(clusterIP);
  harness.arrange(Array.from({ length: 100 }, (_, index) => web(index + 1)));
  harness.nftables.refuse((operation) =>
    bad.some((address) => mentions(operation, address)) ? Errno.EINVAL : undefined
  );
  const { notices } = await harness.all();
  assert.deepEqual(notices.map(({ service }) => service), [
    "ns/web3:p80/TCP",
    "ns/web4:p80/TCP",
    "ns/web99:p80/TCP",
  ]);
  harness.arrange([], notices.map(({ service }) => service ?? ""));
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() believes the kernel when it names the element", async () => {
  const harness = new Harness();
  // Two Services with one address: the second one's element exists already, with another value.
  const twin = servicePort({
    ...web(1),
    name: "twin",
    clusterEndpoints: endpoints("IPv4", [9, 9]),
  });
  const twinKey = { ...twin, key: "ns/twin:p80/TCP" };
  harness.arrange([web(1), web(2), twinKey]);
  const { notices } = await harness.all();
  assert.equal(notices.length, 1);
  assert.match(notices[0].message, /^Cannot program Service port /);
  harness.arrange([], [notices[0].service ?? ""]);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() skips a Service port whose chains the kernel refuses", async () => {
  const harness = new Harness();
  harness.nftables.refuse((operation) =>
    operation.kind === "add-chain" && operation.chain.name.includes("web2/")
      ? Errno.ENOSPC
      : undefined
  );
  harness.arrange([web(1, 60), web(2, 60), web(3, 60)]);
  const { notices } = await harness.all();
  assert.deepEqual(notices, [skipped("web2", "no space left (ENOSPC)")]);
  harness.arrange([], ["ns/web2:p80/TCP"]);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() of a change that the kernel refuses removes that Service port alone", async () => {
  const harness = new Harness();
  await harness.put(web(1), web(2));
  harness.nftables.refuse((operation) =>
    mentions(operation, clusterIP(1)) ? Errno.EINVAL : undefined
  );
  const changed = servicePort({ ...web(1), clusterEndpoints: endpoints("IPv4", [9, 7]) });
  const { full, notices } = await harness.put(changed);
  assert.ok(full);
  assert.deepEqual(notices.filter(({ service }) => service !== undefined), [
    skipped("web1", "invalid argument (EINVAL)"),
  ]);
  await harness.maintain();
  harness.arrange([], ["ns/web1:p80/TCP"]);
  assert.equal(harness.table(), await harness.cleanStart());
});

Deno.test("sync() tries a skipped Service port again when it changes, and on a full sync", async () => {
  const harness = new Harness();
  const refuse = () =>
    harness.nftables.refuse((operation) =>
      mentions(operation, clusterIP(1)) ? Errno.EINVAL : undefined
    );
  refuse();
  assert.equal((await harness.put(web(1), web(2))).notices.length, 1);
  assert.equal(await harness.drifted(), false);
  assert.equal((await harness.all()).notices.length, 1);
  assert.deepEqual((await harness.put(web(3))).notices, []);

  harness.nftables.refuse(() => undefined);
  assert.deepEqual((await harness.put({ ...web(1) })).notices, []);
  assert.equal(harness.table(), await harness.cleanStart());

  refuse();
  harness.restart();
  await harness.nftables.commit({ family: "ip", name: "kube-proxy" }, [{ kind: "delete-table" }]);
  assert.equal((await harness.all()).notices.length, 1);
  harness.nftables.refuse(() => undefined);
  assert.deepEqual((await harness.all()).notices, []);
  assert.equal(harness.table(), await harness.cleanStart());
});

for (const leftovers of [false, true]) {
  const where = leftovers ? "beside leftovers" : "alone";

  Deno.test(`sync() gives up, and says why, when a chain that is always there is refused, ${where}`, async () => {
    const harness = new Harness({ settings: { leftovers } });
    let attempts = 0;
    harness.nftables.refuse((operation) => {
      if (operation.kind !== "add-chain" || operation.chain.name !== "masquerading") return;
      attempts++;
      return Errno.EOPNOTSUPP;
    });
    harness.arrange([web(1), web(2), web(3)]);
    const cause = /Cannot add chain "masquerading".*operation not supported/;
    await assert.rejects(harness.all(), cause);
    assert.ok(attempts <= 4, `${attempts} attempts`);
    harness.nftables.refuse(() => undefined);
    await harness.all();
    assert.equal(harness.table(), await harness.cleanStart());
  });
}

Deno.test("sync() halves what is too much for a socket", async () => {
  const harness = new Harness();
  harness.nftables.refuse((operation) =>
    operation.kind === "add-elements" && operation.elements.length > 100 ? Errno.ENOMEM : undefined
  );
  harness.arrange(Array.from({ length: 300 }, (_, index) => web(index + 1)));
  assert.deepEqual((await harness.all()).notices, []);
  harness.nftables.refuse(() => undefined);
  assert.equal(harness.table(), await harness.cleanStart());
});
