import assert from "node:assert/strict";
import { countCpuList, LinuxHost } from "../../../lib/kernel/host.ts";

const lists: readonly { list: string; cpus: number }[] = [
  { list: "0", cpus: 1 },
  { list: "0-3", cpus: 4 },
  { list: "0-3,8,10-11\n", cpus: 7 },
  { list: "0,2,4", cpus: 3 },
  { list: "", cpus: 0 },
  { list: "3-0", cpus: 0 },
  { list: "0-3,x", cpus: 0 },
];

for (const { cpus, list } of lists) {
  Deno.test(`countCpuList() counts ${cpus} in ${JSON.stringify(list)}`, () => {
    assert.equal(countCpuList(list), cpus);
  });
}

Deno.test("LinuxHost knows its machine", () => {
  const host = new LinuxHost();
  assert.ok(host.onlineCpus() >= 1);
  assert.equal(host.kernelRelease(), Deno.osRelease());
  assert.equal(host.moduleParameter("no_such_module", "x"), undefined);
});
