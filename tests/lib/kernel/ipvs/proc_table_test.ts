import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import { readTable, schedulersIn, versionOfTable } from "../../../../lib/kernel/ipvs/proc_table.ts";

const head = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
`;
const table = `${head}TCP  0A600001:0050 rr persistent 2700000 FFFFFFFF
  -> 0A800105:1F90      Masq    1      3          12        
  -> 0A800005:1F90      Tunnel  0      0          0         
FWM  00000007 rr 
  -> 0A800005:0000      Masq    1      0          0         
UDP  [fd00:0010:0096:0000:0000:0000:0000:000a]:0035 rr 
  -> [fd00:0010:0128:0000:0000:0000:0000:0005]:14E9      Masq    100    0          7         
SCTP 0A600001:270F wlc 
`;

const pod = { port: 8080, forwarding: "masquerade", weight: 1 };

Deno.test("readTable() reads servers of every kind with their connections", () => {
  assert.deepEqual(readTable(table), [
    {
      frontend: { family: "IPv4", protocol: "tcp", address: "10.96.0.1", port: 80 },
      destinations: [
        { ...pod, address: "10.128.1.5", activeConnections: 3, inactiveConnections: 12 },
        {
          ...pod,
          address: "10.128.0.5",
          forwarding: "tunnel",
          weight: 0,
          activeConnections: 0,
          inactiveConnections: 0,
        },
      ],
    },
    {
      frontend: { family: "IPv6", protocol: "udp", address: "fd00:10:96::a", port: 53 },
      destinations: [{
        ...pod,
        address: "fd00:10:128::5",
        port: 5353,
        weight: 100,
        activeConnections: 0,
        inactiveConnections: 7,
      }],
    },
    {
      frontend: { family: "IPv4", protocol: "sctp", address: "10.96.0.1", port: 9999 },
      destinations: [],
    },
  ]);
  assert.deepEqual(readTable(head), []);
});

Deno.test("readTable() reads one family alone, with destinations, where it is asked to", () => {
  const all = readTable(table);
  for (const family of ipFamilies) {
    const some = all.filter(({ frontend }) => frontend.family === family);
    assert.deepEqual(readTable(table, family), some);
    assert.ok(some.length > 0);
  }
});

Deno.test("schedulersIn() takes those of whole lines, and of no firewall mark", () => {
  assert.deepEqual([...schedulersIn(table)], ["rr", "wlc"]);
  assert.deepEqual([...schedulersIn(`${head}FWM  00000007 sh \nTCP  0A600001:0050 wr`)], []);
  assert.deepEqual([...schedulersIn("")], []);
});

Deno.test("the version stands in the first line", () => {
  assert.equal(versionOfTable(table), "1.2.1");
  assert.equal(versionOfTable(""), undefined);
  assert.equal(versionOfTable("Linux version 6.1"), undefined);
});

Deno.test("what is no table of IPVS gets one sentence", () => {
  const garbage: readonly (readonly [string, string])[] = [
    ["", ""],
    ["<html>", "<html>"],
    [`${head}ICMP 0A600001:0050 rr \n`, "ICMP 0A600001:0050 rr "],
    [`${head}TCP  0A6000:0050 rr \n`, "TCP  0A6000:0050 rr "],
    [`${head}TCP  [zz::1]:0050 rr \n`, "TCP  [zz::1]:0050 rr "],
    [
      `${head}TCP  0A600001:0050 rr \n  -> 0A800105:1F90 Masq 1 x 0\n`,
      "  -> 0A800105:1F90 Masq 1 x 0",
    ],
    [
      `${head}TCP  0A600001:0050 rr \n  -> 0A800105:1F90 Magic 1 0 0\n`,
      "  -> 0A800105:1F90 Magic 1 0 0",
    ],
    [`${head}TCP  0A600001:0050 rr \n  -> 0A800105:1F90 Masq 1\n`, "  -> 0A800105:1F90 Masq 1"],
    [`${head}${"x".repeat(200)}\n`, "x".repeat(80)],
  ];
  for (const [text, line] of garbage) {
    assert.throws(() => readTable(text), {
      name: "SyntaxError",
      message: `Cannot read /proc/net/ip_vs: "${line}" is not understood`,
    });
  }
});
