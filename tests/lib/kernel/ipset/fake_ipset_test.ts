import assert from "node:assert/strict";
import { FakeIpset } from "../../../../lib/kernel/ipset/fake_ipset.ts";
import { behaviourCases, checkCase, checkFullSet, services } from "./behaviour_cases.ts";

for (const row of behaviourCases) {
  Deno.test(`the fake ipset behaves as the kernel: ${row.name}`, () =>
    checkCase(new FakeIpset(), row));
}

Deno.test("the fake's sets have room for as many members as the kernel's", () =>
  checkFullSet(new FakeIpset()));

const given = [
  { kind: "create", set: services },
  { kind: "add-members", set: services, members: ["10.96.0.1,tcp:80", "10.96.0.2,tcp:80"] },
] as const;

Deno.test("a set that rules use is not destroyed by the fake, and counts them", async () => {
  const ipset = new FakeIpset({ countRules: (name) => name === services.name ? 2 : 0 });
  ipset.edit(given);
  assert.equal(ipset.list()[0].references, 2);
  assert.deepEqual(await ipset.commit([{ kind: "destroy", name: services.name }]), [{
    change: 0,
    refusal: "busy",
    message: 'Cannot destroy set "KUBE-CLUSTER-IP": the set is in use (ipset error 4100)',
  }]);
});

Deno.test("the fake loads the module for a commit alone, or says what is missing", async () => {
  const ipset = new FakeIpset({ isLoaded: false });
  assert.deepEqual([ipset.list(), ipset.members("X"), ipset.isLoaded()], [[], undefined, false]);
  await ipset.commit(given);
  assert.equal(ipset.isLoaded(), true);
  const none = new FakeIpset({ isLoaded: false, isInstalled: false });
  await assert.rejects(none.commit(given), { name: "KernelModuleError", module: "ip_set" });
});

Deno.test("the fake refuses as it is told, and remembers what it was given", async () => {
  const ipset = new FakeIpset();
  ipset.refuse((_, member) => member === "10.96.0.1,tcp:80" ? 4352 : 0);
  const [failure] = await ipset.commit(given);
  assert.deepEqual([failure.change, failure.member, failure.refusal], [
    1,
    "10.96.0.1,tcp:80",
    "full",
  ]);
  assert.deepEqual([...ipset.members(services.name) ?? []], ["10.96.0.2,tcp:80"]);
  ipset.refuse((change, member) => change.kind === "create" && member === undefined ? 4098 : 0);
  assert.deepEqual(await ipset.commit(given), [{
    change: 0,
    refusal: "no-type",
    message: 'Cannot create set "KUBE-CLUSTER-IP" of type "hash:ip,port family inet": the kernel ' +
      'has no sets of this type (ipset error 4098); run "modprobe ip_set_hash_ipport" on the node',
  }]);
  assert.equal(ipset.commits.length, 2);
  assert.throws(() => ipset.edit(given.slice(0, 1)), /no sets of this type/);
});

Deno.test("what is no member of the set is never handed to the kernel", async () => {
  const ipset = new FakeIpset();
  const message = /^Cannot use ".+" as a member of set "KUBE-CLUSTER-IP" \(hash:ip,port\)$/;
  for (const member of ["10.96.0.1", "10.96.0.1,80", "fd00::1,tcp:80", "10.96.0.1,tcp:080"]) {
    await assert.rejects(
      ipset.commit([given[0], { kind: "add-members", set: services, members: [member] }]),
      { name: "TypeError", message },
    );
  }
});
