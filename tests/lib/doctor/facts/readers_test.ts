/** Which reader each fact has, and what a pod without the node's folders is told. */
import assert from "node:assert/strict";
import type { Fact } from "../../../../lib/doctor/fact.ts";
import { nodeReaders } from "../../../../lib/doctor/facts/readers.ts";
import { FakeHost } from "../../../../lib/kernel/fake_host.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { type HostFiles, withHost } from "../../kernel/inspection/host_folder.ts";
import { FactsInMemory } from "../facts_in_memory.ts";

const servers = [
  "IP Virtual Server version 1.2.1 (size=4096)",
  "Prot LocalAddress:Port Scheduler Flags",
  "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn",
  "TCP  AC1E0001:0050 rr",
].join("\n");

/** The facts of a node that has these files below another root. */
async function factsOf(files: HostFiles, ...names: readonly string[]) {
  return await withHost(files, async (hostRoot) => {
    const readers = nodeReaders({
      clock: new FakeClock(),
      kernel: new FakeKernel({ host: new FakeHost({ kernelRelease: "6.1.0-9" }) }),
      hostRoot,
      mayProbe: false,
      configPaths: [],
      pagePorts: [10_249],
      readPage: () => Promise.resolve("kubeproxy_a_total 3\n"),
      requestJson: () => Promise.resolve({ kind: "unknown", because: "nobody answers" }),
    });
    const { signal } = new AbortController();
    const found = new Map<string, Fact<unknown>>();
    for (const [name, reader] of Object.entries(readers)) {
      if (!names.includes(name)) continue;
      found.set(name, await reader.read({ signal, facts: new FactsInMemory({}) }));
    }
    return Object.fromEntries(found);
  });
}

Deno.test("nodeReaders() read the kernel, the proxy's pages and files of the node", async () => {
  const files = { "/proc/1/net/ip_vs": servers };
  const { ipvs, kernel, proxyMetrics } = await factsOf(files, "ipvs", "kernel", "proxyMetrics");
  assert.deepEqual(kernel, {
    kind: "value",
    value: { release: "6.1.0-9", major: 6, minor: 1 },
  });
  assert.deepEqual(proxyMetrics, { kind: "value", value: new Map([["kubeproxy_a_total", 3]]) });
  assert.ok(ipvs.kind === "value");
  assert.deepEqual(ipvs.value, {
    servers: [{
      protocol: "tcp",
      address: "172.30.0.1",
      port: 80,
      scheduler: "rr",
      persistentSeconds: 0,
      destinations: 0,
    }],
    markServers: 0,
    connections: [],
  });
});

Deno.test("nodeReaders() tell what is absent on the node from what is not mounted", async () => {
  const { ipvs } = await factsOf({ "/proc/1/net/dev": "" }, "ipvs");
  assert.deepEqual(ipvs, { kind: "absent", because: "IPVS is not loaded" });
  const bare = await factsOf({}, "ipvs", "hostFiles", "modules");
  for (const [name, folder] of [["ipvs", "/proc/1"], ["hostFiles", "/etc"], ["modules", "/proc"]]) {
    const fact = bare[name];
    assert.ok(fact.kind === "unknown", name);
    assert.ok(fact.because.endsWith(`${folder}" is not there`), fact.because);
  }
});
