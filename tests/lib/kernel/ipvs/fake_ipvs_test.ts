import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeIpvs } from "../../../../lib/kernel/ipvs/fake_ipvs.ts";
import {
  behaviourCases,
  checkCase,
  checkParts,
  checkTimeouts,
  pod,
  web,
} from "./behaviour_cases.ts";

for (const row of behaviourCases) {
  Deno.test(`the fake IPVS behaves as the kernel: ${row.name}`, () =>
    checkCase(new FakeIpvs(), row));
}

Deno.test("the fake is read in parts as the kernel", () => checkParts(new FakeIpvs()));

Deno.test("the fake's timeouts are set as in the kernel", () => checkTimeouts(new FakeIpvs()));

const given = [
  { kind: "add-server", server: web },
  { kind: "add-destination", server: web, destination: pod },
] as const;

Deno.test("the fake has the connections that it is told, and keeps them over a change of weight", async () => {
  const ipvs = new FakeIpvs();
  ipvs.edit(given);
  ipvs.setConnections(web, pod, { active: 3, inactive: 2 });
  await ipvs.commit([{
    kind: "edit-destination",
    server: web,
    destination: { ...pod, weight: 0 },
  }]);
  assert.deepEqual(ipvs.find(web)?.destinations, [
    { ...pod, weight: 0, activeConnections: 3, inactiveConnections: 2 },
  ]);
  assert.throws(() => ipvs.setConnections(web, { ...pod, port: 1 }, { active: 1 }), RangeError);
});

Deno.test("a server is not changed to a scheduler that the kernel lacks", async () => {
  const ipvs = new FakeIpvs({ schedulers: ["rr"] });
  ipvs.edit(given);
  const change = { kind: "edit-server", server: { ...web, scheduler: "wrr" } } as const;
  const [{ error, refusal }] = await ipvs.commit([change]);
  assert.equal(refusal, "no-scheduler");
  assert.match(error.message, /^Cannot change virtual server .* run "modprobe ip_vs_wrr"/);
  assert.equal(ipvs.find(web)?.server.scheduler, "rr");
});

Deno.test("without the module the fake has no servers, and loads it or says what is missing", async () => {
  const ipvs = new FakeIpvs({ isLoaded: false });
  assert.equal(ipvs.version(), undefined);
  assert.deepEqual(ipvs.read(), []);
  assert.equal(new FakeIpvs({ isLoaded: false, markServers: 2 }).countMarkServers(), 0);
  const message = 'Cannot change virtual servers: the kernel module "ip_vs" is not loaded; run ' +
    `"modprobe ip_vs" on the node, or install the kernel's modules there`;
  await assert.rejects(ipvs.commit(given), { name: "KernelModuleError", message });
  assert.throws(() => ipvs.timeouts(), { name: "KernelModuleError" });
  assert.throws(() => ipvs.setTimeouts({ udp: 1 }), { name: "KernelModuleError" });
  await ipvs.load();
  assert.equal(ipvs.version(), "1.2.1");
  assert.deepEqual(await ipvs.commit(given), []);
  const none = new FakeIpvs({ isLoaded: false, isInstalled: false });
  await assert.rejects(none.load(), { name: "KernelModuleError", module: "ip_vs" });
});

Deno.test("the fake refuses as it is told, and remembers what it was given", async () => {
  const ipvs = new FakeIpvs();
  ipvs.refuse((change) => change.kind === "add-destination" ? Errno.ENOMEM : 0);
  const failures = await ipvs.commit(given);
  assert.deepEqual(failures.map(({ change, refusal }) => [change, refusal]), [[1, "other"]]);
  assert.deepEqual(ipvs.commits, [given]);
  assert.deepEqual(await ipvs.commit([]), []);
  assert.equal(ipvs.commits.length, 1);
  assert.throws(() => ipvs.edit([given[0]]), { message: /exists already/ });
});
