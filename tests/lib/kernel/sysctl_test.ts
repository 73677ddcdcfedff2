import assert from "node:assert/strict";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { ensureSysctl } from "../../../lib/kernel/sysctl.ts";

Deno.test("ensureSysctl() writes what differs, and tells whether it wrote", () => {
  const setting = "net/ipv4/ip_forward";
  const sysctl = new FakeSysctl({ [setting]: "0" });
  assert.equal(ensureSysctl(sysctl, setting, "1"), true);
  assert.equal(sysctl.read(setting), "1");
  sysctl.failWrites(setting, "read-only");
  assert.equal(ensureSysctl(sysctl, setting, "1"), false, "it is right on a read-only /proc/sys");
  assert.throws(() => ensureSysctl(sysctl, setting, "0"), { name: "SysctlError" });
});
