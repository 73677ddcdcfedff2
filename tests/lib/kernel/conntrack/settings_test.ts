import assert from "node:assert/strict";
import {
  applyConntrackSettings,
  type ConntrackSettings,
  planConntrackSettings,
} from "../../../../lib/kernel/conntrack/settings.ts";
import { FakeHost } from "../../../../lib/kernel/fake_host.ts";
import { FakeSysctl } from "../../../../lib/kernel/fake_sysctl.ts";
import { SysctlError } from "../../../../lib/kernel/sysctl.ts";
import { FakeLogger } from "../../../fakes/fake_logger.ts";

const nothing: ConntrackSettings = {
  maxPerCore: 0,
  min: 0,
  tcpEstablishedTimeoutMs: 0,
  tcpCloseWaitTimeoutMs: 0,
  tcpBeLiberal: false,
  udpTimeoutMs: 0,
  udpStreamTimeoutMs: 0,
};

const sizes: readonly {
  name: string;
  maxPerCore: number;
  min: number;
  cpus: number;
  max: number;
}[] = [
  { name: "nothing is asked for", maxPerCore: 0, min: 0, cpus: 4, max: 0 },
  { name: "entries for each CPU", maxPerCore: 67_890, min: 1, cpus: 4, max: 271_560 },
  { name: "the minimum is more", maxPerCore: 1, min: 123_456, cpus: 4, max: 123_456 },
  { name: "a minimum alone asks for nothing", maxPerCore: 0, min: 123_456, cpus: 4, max: 0 },
  { name: "capped on a large machine", maxPerCore: 32_768, min: 0, cpus: 512, max: 1_048_576 },
  { name: "exactly at the cap", maxPerCore: 32_768, min: 0, cpus: 32, max: 1_048_576 },
  { name: "the cap wins over a minimum", maxPerCore: 32_768, min: 2e6, cpus: 64, max: 1_048_576 },
  { name: "a minimum above the cap counts below it", maxPerCore: 1, min: 2e6, cpus: 4, max: 2e6 },
  {
    name: "the default on a small machine",
    maxPerCore: 32_768,
    min: 131_072,
    cpus: 2,
    max: 131_072,
  },
];

for (const { cpus, max, maxPerCore, min, name } of sizes) {
  Deno.test(`planConntrackSettings() sizes the table: ${name}`, () => {
    const [size] = planConntrackSettings({ ...nothing, maxPerCore, min }, cpus);
    assert.equal(size?.value ?? 0, max);
  });
}

const plans: readonly { name: string; wanted: Partial<ConntrackSettings>; plan: string }[] = [
  { name: "nothing for an empty section", wanted: {}, plan: "" },
  { name: "the size", wanted: { maxPerCore: 12 }, plan: "nf_conntrack_max=48" },
  { name: "no size for maxPerCore 0", wanted: { maxPerCore: 0, min: 5 }, plan: "" },
  {
    name: "the timeout of established connections",
    wanted: { tcpEstablishedTimeoutMs: 5000 },
    plan: "nf_conntrack_tcp_timeout_established=5",
  },
  {
    name: "no timeout of established connections for 0",
    wanted: { tcpEstablishedTimeoutMs: 0 },
    plan: "",
  },
  {
    name: "the timeout of CLOSE_WAIT",
    wanted: { tcpCloseWaitTimeoutMs: 5000 },
    plan: "nf_conntrack_tcp_timeout_close_wait=5",
  },
  { name: "no timeout of CLOSE_WAIT for 0", wanted: { tcpCloseWaitTimeoutMs: 0 }, plan: "" },
  { name: "liberal", wanted: { tcpBeLiberal: true }, plan: "nf_conntrack_tcp_be_liberal=1" },
  { name: "not liberal is left alone", wanted: { tcpBeLiberal: false }, plan: "" },
  { name: "the UDP timeout", wanted: { udpTimeoutMs: 5000 }, plan: "nf_conntrack_udp_timeout=5" },
  { name: "no UDP timeout for 0", wanted: { udpTimeoutMs: 0 }, plan: "" },
  {
    name: "the UDP stream timeout",
    wanted: { udpStreamTimeoutMs: 5000 },
    plan: "nf_conntrack_udp_timeout_stream=5",
  },
  { name: "no UDP stream timeout for 0", wanted: { udpStreamTimeoutMs: 0 }, plan: "" },
  {
    name: "parts of a second are cut off",
    wanted: { udpTimeoutMs: 999 },
    plan: "nf_conntrack_udp_timeout=0",
  },
  {
    name: "all, in upstream's order",
    wanted: {
      maxPerCore: 1,
      tcpEstablishedTimeoutMs: 1000,
      tcpCloseWaitTimeoutMs: 2000,
      tcpBeLiberal: true,
      udpTimeoutMs: 3000,
      udpStreamTimeoutMs: 4000,
    },
    plan: "nf_conntrack_max=4 nf_conntrack_tcp_timeout_established=1 " +
      "nf_conntrack_tcp_timeout_close_wait=2 nf_conntrack_tcp_be_liberal=1 " +
      "nf_conntrack_udp_timeout=3 nf_conntrack_udp_timeout_stream=4",
  },
];

for (const { name, plan, wanted } of plans) {
  Deno.test(`planConntrackSettings() sets ${name}`, () => {
    const planned = planConntrackSettings({ ...nothing, ...wanted }, 4);
    assert.equal(planned.map((each) => `${each.name}=${each.value}`).join(" "), plan);
  });
}

function target(values: Readonly<Record<string, string>>, hashsize = "1024") {
  const moduleParameters = { "nf_conntrack.hashsize": hashsize };
  return {
    sysctl: new FakeSysctl(values),
    host: new FakeHost({ onlineCpus: 4, moduleParameters }),
    logger: new FakeLogger(),
  };
}

const max = "net/netfilter/nf_conntrack_max";

Deno.test("applyConntrackSettings() sets the size and lets the hash table grow with it", () => {
  const to = target({ [max]: "65536" });
  applyConntrackSettings({ ...nothing, maxPerCore: 32_768 }, to);
  assert.equal(to.sysctl.read(max), "131072");
  assert.equal(to.host.moduleParameter("nf_conntrack", "hashsize"), "32768");
});

Deno.test("applyConntrackSettings() never shrinks the hash table", () => {
  const to = target({ [max]: "65536" }, "65536");
  applyConntrackSettings({ ...nothing, maxPerCore: 32_768 }, to);
  assert.equal(to.host.moduleParameter("nf_conntrack", "hashsize"), "65536");
});

Deno.test("applyConntrackSettings() writes nothing that is right, so /proc/sys may be read-only", () => {
  const to = target({ [max]: "131072" }, "65536");
  to.sysctl.failWrites("*", "read-only");
  applyConntrackSettings({ ...nothing, maxPerCore: 32_768 }, to);
  assert.deepEqual(to.logger.lines, []);
});

Deno.test("applyConntrackSettings() throws for what it cannot set", () => {
  const readOnly = target({ [max]: "1" });
  readOnly.sysctl.failWrites("*", "read-only");
  assert.throws(
    () => applyConntrackSettings({ ...nothing, maxPerCore: 1 }, readOnly),
    (error) => error instanceof SysctlError && error.fault === "read-only",
  );
  assert.throws(
    () => applyConntrackSettings({ ...nothing, udpTimeoutMs: 5000 }, target({})),
    (error) => error instanceof SysctlError && error.fault === "absent",
  );
});
