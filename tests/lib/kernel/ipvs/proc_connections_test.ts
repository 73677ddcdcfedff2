import assert from "node:assert/strict";
import { countOpenConnections } from "../../../../lib/kernel/ipvs/proc_connections.ts";

const web = "-t 10.96.0.1:80";
const head = "Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData\n";
const v6 = (last: string) => `fd00:0010:0096:0000:0000:0000:0000:${last}`;

Deno.test("connections that are open are counted by their server, and no others", () => {
  const text = `${head}TCP C0A80A02 9886 0A600001 0050 0A800003 1F90 ESTABLISHED     899
TCP C0A80A02 9887 0A600001 0050 0A800003 1F90 SYN_RECV         59
TCP C0A80A02 9888 0A600001 0050 0A800003 1F90 SYN_SENT         59
TCP C0A80A02 9889 0A600001 0050 0A800003 1F90 TIME_WAIT       119
TCP C0A80A02 0000 0A600001 0050 0A800003 1F90 ASSURED       10799
UDP C0A80A02 9886 0A60000A 0035 0A800003 1F90 UDP             299
TCP ${v6("0002")} 9886 ${v6("000a")} 0051 ${v6("0003")} 1F90 ESTABLISHED     899
SCTP C0A80A02 9886 0A600001 270F 0A800003 1F90 ESTABLISHED     899
`;
  assert.deepEqual([...countOpenConnections(() => text, [web])], [
    ["-t 10.96.0.1:80", 2],
    ["-t [fd00:10:96::a]:81", 1],
    ["--sctp-service 10.96.0.1:9999", 1],
  ]);
  for (const empty of ["", head]) assert.equal(countOpenConnections(() => empty, [web]).size, 0);
});

Deno.test("an open connection that is not understood gets one sentence", () => {
  for (
    const line of [
      "ABC C0A80A02 9886 0A600001 0050 0A800003 1F90 ESTABLISHED     899",
      "TCP C0A80A02 9886 0A6000 0050 0A800003 1F90 ESTABLISHED     899",
    ]
  ) {
    assert.throws(() => countOpenConnections(() => `${head}${line}\n`, [web]), {
      name: "SyntaxError",
      message: `Cannot read /proc/net/ip_vs_conn: "${line}" is not understood`,
    });
  }
});

Deno.test("a server is without open connections when three readings find none", () => {
  const line = (port: string) =>
    `TCP C0A80A02 98${port} 0A600001 0050 0A800003 1F90 ESTABLISHED     899\n`;
  const texts = [head, `${head}${line("01")}`, `${head}${line("01")}${line("02")}`];
  const readings = (...numbers: readonly number[]) => {
    const left = [...numbers];
    const counts = countOpenConnections(() => texts[left.shift() ?? assert.fail("too many")], [
      web,
    ]);
    return [counts.get(web), left.length];
  };
  // It ends as soon as each server that is asked for was found.
  assert.deepEqual(readings(2, 1, 0), [2, 2]);
  assert.deepEqual(readings(0, 1, 0), [1, 1]);
  assert.deepEqual(readings(0, 0, 2), [2, 0]);
  assert.deepEqual(readings(0, 0, 0, 1), [undefined, 1]);
});

Deno.test("what a reading missed of other servers does not take away what one found", () => {
  const dns = "-t 10.96.0.2:53";
  const line = (address: string, port: string) =>
    `TCP C0A80A02 9801 ${address} ${port} 0A800003 1F90 ESTABLISHED     899\n`;
  const ofWeb = line("0A600001", "0050");
  const texts = [
    `${head}${ofWeb}${ofWeb}`,
    `${head}${ofWeb}`,
    `${head}${line("0A600002", "0035")}`,
  ];
  const counts = countOpenConnections(() => texts.shift() ?? assert.fail("too many"), [web, dns]);
  assert.deepEqual([...counts], [[web, 2], [dns, 1]]);
});
