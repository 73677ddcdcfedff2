import assert from "node:assert/strict";
import {
  hasCapability,
  LinuxSelf,
  parseLimit,
  parseProcessStat,
  parseTraffic,
} from "../../../lib/kernel/self.ts";

const netAdmin = 12n;

const capabilities: readonly { name: string; status: string; has: boolean }[] = [
  { name: "root", status: "Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", has: true },
  { name: "only this one", status: "CapEff:\t0000000000001000\n", has: true },
  { name: "all but this one", status: "CapEff:\t000001ffffffefff\n", has: false },
  { name: "none", status: "CapEff:\t0000000000000000\n", has: false },
  { name: "others that are merely permitted", status: "CapPrm:\t000001ffffffffff\n", has: false },
  { name: "an empty status", status: "", has: false },
];

for (const { has, name, status } of capabilities) {
  Deno.test(`hasCapability() is ${has} for ${name}`, () => {
    assert.equal(hasCapability(status, netAdmin), has);
  });
}

Deno.test("parseProcessStat() reads behind a name with spaces and parentheses", () => {
  const fields = Array.from({ length: 50 }, (_, i) => i + 3).map(String);
  fields[0] = "S";
  assert.deepEqual(parseProcessStat(`77 (a b) c) ${fields.join(" ")}`), {
    cpuTicks: 14 + 15,
    startTicks: 22,
    virtualBytes: 23,
    residentPages: 24,
  });
});

Deno.test("parseLimit() reads the soft limit", () => {
  const line = (soft: string) => `Max open files            ${soft}                20000  files\n`;
  assert.equal(parseLimit(line("1024"), "Max open files"), 1024);
  assert.equal(parseLimit(line("unlimited"), "Max open files"), Infinity);
});

Deno.test("parseTraffic() finds its columns by name", () => {
  const netstat = "TcpExt: A B\nTcpExt: 1 2\nIpExt: X InOctets OutOctets\nIpExt: 5 70 80\n";
  assert.deepEqual(parseTraffic(netstat), { received: 70, sent: 80 });
  assert.deepEqual(parseTraffic(""), { received: 0, sent: 0 });
});

Deno.test("LinuxSelf measures this process", () => {
  const { cpuSeconds, openFileDescriptors, residentBytes, startTimeSeconds, virtualBytes } =
    new LinuxSelf().usage();
  assert.ok(cpuSeconds >= 0 && cpuSeconds < 3600);
  assert.ok(openFileDescriptors >= 3);
  const { rss } = Deno.memoryUsage();
  assert.ok(Math.abs(residentBytes - rss) < rss / 2, `${residentBytes} is not near ${rss}`);
  assert.ok(virtualBytes >= residentBytes);
  const now = Date.now() / 1000;
  assert.ok(startTimeSeconds <= now + 1 && startTimeSeconds > now - 3600, `${startTimeSeconds}`);
});

Deno.test("LinuxSelf tells its network namespace as /proc does, with one cookie for every asker", async () => {
  const { cookie, inode } = new LinuxSelf().networkNamespace();
  assert.equal(`net:[${inode}]`, await Deno.readLink("/proc/self/ns/net"));
  assert.match(cookie ?? "1", /^[1-9]\d*$/);
  assert.deepEqual(new LinuxSelf().networkNamespace(), {
    inode,
    ...(cookie === undefined ? {} : { cookie }),
  });
});
