/** What doctor asks of a machine's files, over folders that look like one. */
import assert from "node:assert/strict";
import { readIpvsState } from "../../../../lib/kernel/inspection/ipvs_text.ts";
import {
  moduleState,
  readModuleInventory,
} from "../../../../lib/kernel/inspection/module_inventory.ts";
import { readOpenSockets } from "../../../../lib/kernel/inspection/open_sockets.ts";
import {
  isInNodeNetwork,
  networkNamespaceOf,
  readProcesses,
  socketOwners,
} from "../../../../lib/kernel/inspection/processes.ts";
import { KernelFiles } from "../../../../lib/kernel/kernel_files.ts";
import { type HostFiles, withHost } from "./host_folder.ts";

const over = <T>(files: HostFiles, read: (files: KernelFiles) => T | Promise<T>) =>
  withHost(files, (root) => read(new KernelFiles(root)));

const release = { "/proc/sys/kernel/osrelease": "6.1.0-9\n" };
const folder = "/lib/modules/6.1.0-9";
const dep = [
  "kernel/net/netfilter/nft_numgen.ko.xz: kernel/net/netfilter/nf_tables.ko.xz",
  "kernel/net/netfilter/nf_tables.ko:",
  "kernel/net/ipv4/netfilter/nft-fib-ipv4.ko.zst:",
].join("\n");

const states: readonly (readonly [string, HostFiles, Readonly<Record<string, string>>])[] = [
  [
    "a modular kernel",
    {
      ...release,
      "/proc/modules": "nf_tables 16384 3 nft_numgen, Live 0x0\nnft_ct 1 0 - Live 0x0\n",
      [`${folder}/modules.builtin`]: "kernel/net/netfilter/nf_conntrack.ko\n",
      [`${folder}/modules.dep`]: dep,
    },
    {
      nf_tables: "loaded",
      nft_ct: "loaded",
      nf_conntrack: "built-in",
      nft_numgen: "available",
      nft_fib_ipv4: "available",
      nft_nat: "missing",
    },
  ],
  [
    "without /lib/modules",
    { ...release, "/proc/modules": "nf_tables 16384 3 - Live 0x0\n" },
    { nf_tables: "loaded", nft_nat: "unknown" },
  ],
  [
    "by its configuration",
    {
      ...release,
      "/proc/modules": "",
      "/boot/config-6.1.0-9": "CONFIG_NF_TABLES=y\nCONFIG_NFT_CT=m\n# CONFIG_NFT_NAT is not set\n",
    },
    { nf_tables: "built-in", nft_ct: "unknown", nft_nat: "missing", nft_chain_nat: "unknown" },
  ],
];
for (const [name, files, wanted] of states) {
  Deno.test(`moduleState(): ${name}`, async () => {
    const inventory = await over(files, readModuleInventory);
    const found = Object.keys(wanted).map((module) => [module, moduleState(inventory, module)]);
    assert.deepEqual(Object.fromEntries(found), wanted);
    assert.equal(inventory.release, "6.1.0-9");
  });
}

Deno.test("readModuleInventory() reads a packed configuration, and a kernel without modules", async () => {
  const text = new Blob(["CONFIG_NF_TABLES=y\n"]).stream();
  const packed = new Uint8Array(
    await new Response(text.pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );
  const inventory = await over({ ...release, "/proc/config.gz": packed }, readModuleInventory);
  assert.equal(inventory.loaded, undefined);
  assert.equal(moduleState(inventory, "nf_tables"), "built-in");
  await assert.rejects(over({ ...release, "/proc/config.gz": "garbage" }, readModuleInventory));
});

const head =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n";
const line = (local: string, remote: string, state: string, inode: string) =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 x\n`;

Deno.test("readOpenSockets() reads sockets of both families", async () => {
  const found = await over({
    "/proc/1/net/tcp": head + line("0100007F:2809", "00000000:0000", "0A", "11") +
      line("0A01A8C0:0050", "0200A8C0:D431", "01", "12") +
      line("0A01A8C0:0051", "0200A8C0:D431", "06", "13"),
    "/proc/1/net/tcp6": head +
      line(`${"0".repeat(32)}:1F90`, `${"0".repeat(32)}:0000`, "0A", "14") +
      line("0000000000000000FFFF00000A01A8C0:0016", `${"0".repeat(32)}:0000`, "0A", "15") +
      line("B80D0120000000000000000001000000:0035", `${"0".repeat(32)}:0000`, "0A", "16"),
    "/proc/1/net/udp": head + line("00000000:0035", "00000000:0000", "07", "17") +
      line("00000000:0036", "0200A8C0:0035", "01", "18"),
  }, readOpenSockets);
  assert.deepEqual(
    found.map(({ address, inode, isListening, peer, peerPort, port, protocol }) =>
      `${protocol} ${address}:${port} ${isListening ? "listens" : `${peer}:${peerPort}`} ${inode}`
    ),
    [
      "tcp 127.0.0.1:10249 listens 11",
      "tcp 192.168.1.10:80 192.168.0.2:54321 12",
      "tcp :::8080 listens 14",
      "tcp 192.168.1.10:22 listens 15",
      "tcp 2001:db8::1:53 listens 16",
      "udp 0.0.0.0:53 listens 17",
      "udp 0.0.0.0:54 192.168.0.2:53 18",
    ],
  );
});

Deno.test("readOpenSockets() names what it does not understand", async () => {
  await assert.rejects(
    over({ "/proc/1/net/udp6": `${head}garbage\n` }, readOpenSockets),
    { name: "SyntaxError", message: 'Cannot read /proc/net/udp6: "garbage" is not understood' },
  );
});

const ipvs = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  0A600001:01BB rr
  -> 0A000001:1A2B      Masq    1      0          0
  -> 0A000002:1A2B      Masq    1      0          0
FWM  00000001 rr
  -> 0A000003:1A2B      Masq    1      0          0
UDP  [2001:0db8:0000:0000:0000:0000:0000:0001]:0035 sh persistent 10800000 FFFFFFFF
`;
const connections = `Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData
TCP C0A80101 1234 0A600001 01BB 0A000001 1A2B ESTABLISHED     900
TCP C0A80101 1235 0A600001 01BB 0A000001 1A2B ESTABLISHED     512
TCP C0A80101 1236 0A600001 01BB 0A000001 1A2B TIME_WAIT       900
UDP C0A80101 1237 0A600001 0035 0A000001 1A2B UDP             900
`;

Deno.test("readIpvsState() reads servers and established connections", async () => {
  const state = await over(
    { "/proc/1/net/ip_vs": ipvs, "/proc/1/net/ip_vs_conn": connections },
    readIpvsState,
  );
  assert.deepEqual(state, {
    servers: [
      {
        protocol: "tcp",
        address: "10.96.0.1",
        port: 443,
        scheduler: "rr",
        persistentSeconds: 0,
        destinations: 2,
      },
      {
        protocol: "udp",
        address: "2001:db8::1",
        port: 53,
        scheduler: "sh",
        persistentSeconds: 10_800,
        destinations: 0,
      },
    ],
    markServers: 1,
    connections: [{
      protocol: "tcp",
      address: "10.96.0.1",
      port: 443,
      established: 2,
      soonestExpirySeconds: 512,
    }],
  });
  assert.equal(await over({}, readIpvsState), undefined);
});

const garbage: readonly (readonly [string, HostFiles, RegExp])[] = [
  ["no table", { "/proc/1/net/ip_vs": "nonsense" }, /ip_vs: "nonsense"/],
  ["a server", { "/proc/1/net/ip_vs": `${ipvs}TCP  zz:01BB rr\n` }, /ip_vs: "TCP {2}zz:01BB rr"/],
  ["a protocol", { "/proc/1/net/ip_vs": `${ipvs}ICMP 0A600001:01BB rr\n` }, /ip_vs: "ICMP/],
  [
    "a connection",
    { "/proc/1/net/ip_vs": ipvs, "/proc/1/net/ip_vs_conn": "TCP a 1 zz 01BB b 1 ESTABLISHED 1\n" },
    /ip_vs_conn: "TCP a/,
  ],
  [
    "how long a connection is kept",
    {
      "/proc/1/net/ip_vs": ipvs,
      "/proc/1/net/ip_vs_conn": "TCP C0A80101 1234 0A600001 01BB 0A000001 1A2B ESTABLISHED x\n",
    },
    /ip_vs_conn: "TCP C0A80101/,
  ],
];
for (const [name, files, message] of garbage) {
  Deno.test(`readIpvsState() names what it does not understand: ${name}`, async () => {
    await assert.rejects(over(files, readIpvsState), { name: "SyntaxError", message });
  });
}

const proc: HostFiles = {
  "/proc/1/cmdline": "/sbin/init\0",
  "/proc/1/ns/net": "-> net:[1]",
  "/proc/1/ns/pid": "-> pid:[4026531836]",
  "/proc/20/cmdline": "/usr/bin/kube-proxy\0--config=/a b\0",
  "/proc/20/ns/net": "-> net:[1]",
  "/proc/20/fd/3": "-> socket:[77]",
  "/proc/20/fd/4": "-> /dev/null",
  "/proc/3/cmdline": "",
  "/proc/self/cmdline": "x\0",
};

Deno.test("readProcesses() reads every process in the order of their numbers", async () => {
  assert.deepEqual(await over(proc, readProcesses), [
    { pid: 1, argv: ["/sbin/init"], networkNamespace: "net:[1]" },
    { pid: 3, argv: [], networkNamespace: undefined },
    { pid: 20, argv: ["/usr/bin/kube-proxy", "--config=/a b"], networkNamespace: "net:[1]" },
  ]);
});

Deno.test("socketOwners() finds the process that has a socket open", async () => {
  const owners = await over(proc, (files) => socketOwners(files, new Set(["77", "78"])));
  assert.deepEqual([...owners], [["77", 20]]);
});

Deno.test("isInNodeNetwork() compares with the machine's first process, where it can be seen", async () => {
  const own = networkNamespaceOf(new KernelFiles(), "thread-self") ?? "";
  const node = (net: string, pid = "4026531836"): HostFiles => ({
    "/proc/1/ns/net": `-> ${net}`,
    "/proc/1/ns/pid": `-> pid:[${pid}]`,
  });
  assert.equal(await over(node(own), isInNodeNetwork), true);
  assert.equal(await over(node("net:[1]"), isInNodeNetwork), false);
  assert.equal(await over(node(own, "5"), isInNodeNetwork), undefined);
  assert.equal(await over({}, isInNodeNetwork), undefined);
});
