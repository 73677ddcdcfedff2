import assert from "node:assert/strict";
import { chooseFamilies } from "../../../lib/node/families.ts";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { IpFamilyPolicy } from "../../../lib/config/internal.ts";

const rows: readonly {
  name: string;
  policy: IpFamilyPolicy;
  primary: IpFamily;
  missing?: IpFamily;
  families: string | RegExp;
}[] = [
  { name: "both there", policy: "PreferDualStack", primary: "IPv4", families: "IPv4,IPv6" },
  {
    name: "both there, IPv6 first",
    policy: "PreferDualStack",
    primary: "IPv6",
    families: "IPv4,IPv6",
  },
  {
    name: "the secondary missing",
    policy: "PreferDualStack",
    primary: "IPv4",
    missing: "IPv6",
    families: "IPv4",
  },
  {
    name: "the primary missing",
    policy: "PreferDualStack",
    primary: "IPv6",
    missing: "IPv6",
    families: /Cannot program IPv6 in some mode: no such thing/,
  },
  { name: "single stack", policy: "SingleStack", primary: "IPv6", families: "IPv6" },
  {
    name: "single stack does not ask for the other",
    policy: "SingleStack",
    primary: "IPv4",
    missing: "IPv6",
    families: "IPv4",
  },
  {
    name: "both required and there",
    policy: "RequireDualStack",
    primary: "IPv4",
    families: "IPv4,IPv6",
  },
  {
    name: "both required, one missing",
    policy: "RequireDualStack",
    primary: "IPv4",
    missing: "IPv6",
    families: /requires both families/,
  },
];

Deno.test("chooseFamilies() follows the policy as far as the kernel does", async (t) => {
  for (const { name, policy, primary, missing, families } of rows) {
    await t.step(name, async () => {
      const chosen = chooseFamilies({
        mode: "some",
        policy,
        primary,
        logger: {
          info: () => {},
          verbose: () => {},
          warning: () => {},
          error: () => {},
          enabled: () => false,
        },
        probe: (family) =>
          Promise.resolve(
            family === missing
              ? { kind: "unsupported", reason: "no such thing" }
              : { kind: "supported" },
          ),
      });
      if (typeof families === "string") assert.equal((await chosen).join(","), families);
      else await assert.rejects(chosen, families);
    });
  }
});
