import assert from "node:assert/strict";
import { FakeHost } from "../../../lib/kernel/fake_host.ts";
import { LinuxHost } from "../../../lib/kernel/host.ts";
import { applyConntrackSettings } from "../../../lib/kernel/conntrack/settings.ts";
import { ProcSysctl } from "../../../lib/kernel/proc_sysctl.ts";
import { ensureSysctl, SysctlError } from "../../../lib/kernel/sysctl.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";
import { withOwnNamespace } from "../rig/own_namespace.ts";

const forwarding = "net/ipv4/ip_forward";

Deno.test("ProcSysctl reads and writes what `sysctl` reads, in this thread's namespace", () =>
  withOwnNamespace(async (namespace) => {
    const sysctl = new ProcSysctl();
    const outside = sysctl.read(forwarding);
    const wanted = namespace.inside(() => sysctl.read(forwarding)) === "1" ? "0" : "1";
    assert.equal(namespace.inside(() => ensureSysctl(sysctl, forwarding, wanted)), true);
    assert.equal(namespace.inside(() => ensureSysctl(sysctl, forwarding, wanted)), false);
    assert.equal((await namespace.run("sysctl", "-n", "net.ipv4.ip_forward")).trim(), wanted);
    assert.equal(sysctl.read(forwarding), outside, "the root namespace is untouched");
  }));

Deno.test("ProcSysctl says of a setting what is wrong with it", () =>
  withOwnNamespace((namespace) => {
    const sysctl = new ProcSysctl();
    assert.equal(sysctl.read("net/no/such"), undefined);
    const faultOf = (setting: string, value: string) => {
      try {
        namespace.inside(() => sysctl.write(setting, value));
      } catch (error) {
        if (error instanceof SysctlError) return error.fault;
        throw error;
      }
      return "none";
    };
    assert.equal(faultOf("net/no/such", "1"), "absent");
    assert.equal(faultOf(forwarding, "many"), "invalid");
    assert.equal(faultOf("kernel/osrelease", "9.9"), "refused");
    return Promise.resolve();
  }));

Deno.test("applyConntrackSettings() sets the timeouts of a namespace", () =>
  withOwnNamespace(async (namespace) => {
    const wanted = {
      maxPerCore: 0,
      min: 0,
      tcpEstablishedTimeoutMs: 7_200_000,
      tcpCloseWaitTimeoutMs: 61_000,
      tcpBeLiberal: true,
      udpTimeoutMs: 11_000,
      udpStreamTimeoutMs: 12_000,
    };
    const target = { sysctl: new ProcSysctl(), host: new FakeHost(), logger: new FakeLogger() };
    namespace.inside(() => applyConntrackSettings(wanted, target));
    const names = [
      "tcp_timeout_established",
      "tcp_timeout_close_wait",
      "tcp_be_liberal",
      "udp_timeout",
      "udp_timeout_stream",
    ].map((name) => `net.netfilter.nf_conntrack_${name}`);
    const values = (await namespace.run("sysctl", "-n", ...names)).trim().split("\n");
    assert.deepEqual(values, ["7200", "61", "1", "11", "12"]);
  }));

Deno.test("LinuxHost sees whether a namespace has IPv6", () =>
  withOwnNamespace(async (namespace) => {
    const host = new LinuxHost();
    assert.equal(namespace.inside(() => host.ipv6Available()), true);
    await namespace.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1");
    assert.equal(namespace.inside(() => host.ipv6Available()), false);
  }));
