/** Virtual servers, by the kernel's answer where it may be asked, and by its file elsewhere. */
import assert from "node:assert/strict";
import { ipvsReader } from "../../../../lib/doctor/facts/ipvs.ts";
import type { Rights } from "../../../../lib/doctor/facts/node_values.ts";
import { FakeIpvs } from "../../../../lib/kernel/ipvs/fake_ipvs.ts";
import { KernelFiles } from "../../../../lib/kernel/kernel_files.ts";
import { withHost } from "../../kernel/inspection/host_folder.ts";
import { FactsInMemory, known } from "../facts_in_memory.ts";

/** One server, and one by mark, of those that the kernel has. */
const table = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  AC1E0001:0050 rr
FWM  00000001 rr
`;
const connection = "TCP C0A80101 1234 AC1E0001 0050 0A000001 1A2B ESTABLISHED     900\n";

const web = { family: "IPv4", protocol: "tcp", address: "172.30.0.1", port: 80 } as const;
const dns = { family: "IPv6", protocol: "udp", address: "fd00::1", port: 53 } as const;

async function kernelWithTwo(): Promise<FakeIpvs> {
  const ipvs = new FakeIpvs({ markServers: 3 });
  const destination = {
    address: "fd00::5",
    port: 53,
    forwarding: "masquerade",
    weight: 1,
  } as const;
  const refused = await ipvs.commit([
    { kind: "add-server", server: { ...web, scheduler: "rr", flags: 0 } },
    {
      kind: "add-server",
      server: { ...dns, scheduler: "sh", flags: 0, persistenceSeconds: 10_800 },
    },
    { kind: "add-destination", server: dns, destination },
  ]);
  assert.deepEqual(refused, []);
  return ipvs;
}

/** The fact; the node's files are below another root, or this machine's own root is meant. */
async function readWith(rights: Rights, isOwnRoot = false) {
  const files = { "/proc/1/net/ip_vs": table, "/proc/1/net/ip_vs_conn": connection };
  return await withHost(files, async (folder) => {
    const fact = await ipvsReader({
      files: new KernelFiles(folder),
      hostRoot: isOwnRoot ? "" : folder,
      ipvs: await kernelWithTwo(),
    }).read({
      signal: new AbortController().signal,
      facts: new FactsInMemory({
        rights: known(rights),
      }),
    });
    assert.ok(fact.kind === "value", JSON.stringify(fact));
    assert.equal(fact.value.connections.length, 1);
    return fact.value;
  });
}

Deno.test("ipvsReader() asks the kernel, whose file may lack servers", async () => {
  for (const isOwnRoot of [false, true]) {
    const rights = { hasNetAdmin: true, isInNodeNetwork: isOwnRoot ? undefined : true };
    const { markServers, servers } = await readWith(rights, isOwnRoot);
    assert.equal(markServers, 3);
    assert.deepEqual(servers, [
      {
        protocol: "tcp",
        address: "172.30.0.1",
        port: 80,
        scheduler: "rr",
        persistentSeconds: 0,
        destinations: 0,
      },
      {
        protocol: "udp",
        address: "fd00::1",
        port: 53,
        scheduler: "sh",
        persistentSeconds: 10_800,
        destinations: 1,
      },
    ]);
  }
});

Deno.test("ipvsReader() reads the file where the kernel would answer for another network, or not at all", async () => {
  const rows = [
    { hasNetAdmin: false, isInNodeNetwork: true },
    { hasNetAdmin: true, isInNodeNetwork: false },
    { hasNetAdmin: true, isInNodeNetwork: undefined },
  ];
  for (const rights of rows) {
    const { markServers, servers } = await readWith(rights);
    assert.deepEqual([servers.map(({ port }) => port), markServers], [[80], 1]);
  }
});
