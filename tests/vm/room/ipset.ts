/** Sets beside the tool `ipset`, on the kernel of a guest. */
import assert from "node:assert/strict";
import type { IpsetChange } from "../../../lib/kernel/ipset/ipset.ts";
import { NetlinkIpset } from "../../../lib/kernel/ipset/netlink_ipset.ts";
import { setText } from "../../../lib/kernel/ipset/text.ts";
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import {
  behaviourCases,
  checkCase,
  checkFullSet,
  sampleSets,
} from "../../lib/kernel/ipset/behaviour_cases.ts";

const ipset = new NetlinkIpset(new KernelFiles());

/** What makes the sample sets with their members. */
const given: readonly IpsetChange[] = sampleSets.flatMap((
  { members, set },
): readonly IpsetChange[] => [
  { kind: "create", set },
  { kind: "add-members", set, members },
]);

/** The same for the tool. */
const text = sampleSets.flatMap(({ members, set }) => [
  setText(set),
  ...members.map((member) => `add ${set.name} ${member}`),
]);

/** What the tool saves, sorted, without what is made at random and what old kernels do not print. */
async function saved(): Promise<readonly string[]> {
  const lines = (await runCommand(["ipset", "save"])).trim().split("\n");
  return lines.map((line) => line.replace(/ bucketsize \d+/, "").replace(/ initval \S+/, ""))
    .filter(Boolean).sort();
}

function hasModule(): boolean {
  return [...Deno.readDirSync("/sys/module")].some(({ name }) => name === "ip_set");
}

Deno.test("readers do not load ipset, the first change does", async () => {
  assert.equal(hasModule(), false);
  assert.equal(ipset.isLoaded(), false);
  assert.deepEqual([ipset.list(), ipset.members("X"), ipset.indexOf("X"), ipset.nameOf(0)], [
    [],
    undefined,
    undefined,
    undefined,
  ]);
  assert.equal(hasModule(), false);
  assert.deepEqual(await ipset.commit([{ kind: "destroy", name: "none" }]), []);
  assert.equal(ipset.isLoaded(), true);
});

for (const row of behaviourCases) {
  Deno.test(`the kernel's sets: ${row.name}`, () => checkCase(ipset, row));
}

Deno.test("a full set of the kernel names each member that has no room", () => checkFullSet(ipset));

Deno.test("the tool saves our sets as we write them", async () => {
  assert.deepEqual(await ipset.commit(given), []);
  assert.deepEqual(await saved(), text.toSorted());
  await runCommand(["ipset", "destroy"]);
});

Deno.test("sets of the tool are read, and are ours when they are made again", async () => {
  await runCommand(["ipset", "restore"], `${text.join("\n")}\n`);
  for (const { members, set } of sampleSets) {
    assert.deepEqual([...ipset.members(set.name) ?? []].sort(), members, set.name);
  }
  assert.deepEqual(await ipset.commit(given), []);
  assert.deepEqual(await saved(), text.toSorted());
  await runCommand(["ipset", "destroy"]);
});

Deno.test("a set of the tool with other settings is left alone, and told", async () => {
  const [{ set }] = sampleSets;
  await runCommand(["ipset", "create", set.name, "hash:ip,port", "maxelem", "10"]);
  const [failure] = await ipset.commit([{ kind: "create", set }]);
  assert.equal(failure.refusal, "other-set");
  assert.match(failure.message, /a set of that name is "hash:ip,port family inet with other/);
  await runCommand(["ipset", "destroy"]);
});

Deno.test("a set that a rule uses is not destroyed", async () => {
  const [{ set }] = sampleSets;
  await ipset.commit(given);
  const rule = ["OUTPUT", "-m", "set", "--match-set", set.name, "dst,dst", "-j", "ACCEPT"];
  await runCommand(["iptables-legacy", "-A", ...rule]);
  const destroy = { kind: "destroy", name: set.name } as const;
  const [failure] = await ipset.commit([destroy]);
  assert.deepEqual([failure.change, failure.refusal], [0, "busy"]);
  assert.equal(ipset.list().find(({ name }) => name === set.name)?.references, 1);
  await runCommand(["iptables-legacy", "-D", ...rule]);
  assert.deepEqual(await ipset.commit([destroy]), []);
  await runCommand(["ipset", "destroy"]);
});
