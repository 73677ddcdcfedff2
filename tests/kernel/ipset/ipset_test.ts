/** Sets of the machine's own kernel behave as the fake's. */
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import type { Ipset } from "../../../lib/kernel/ipset/ipset.ts";
import { NetlinkIpset } from "../../../lib/kernel/ipset/netlink_ipset.ts";
import { behaviourCases, checkCase, checkFullSet } from "../../lib/kernel/ipset/behaviour_cases.ts";
import { withOwnNamespace } from "../rig/own_namespace.ts";

/** The sets of a namespace, as if this thread lived there. */
function inOwnNamespace(body: (ipset: Ipset) => Promise<void>): Promise<void> {
  return withOwnNamespace(async ({ inside }) => {
    const ipset = new NetlinkIpset(new KernelFiles());
    await body({
      isLoaded: () => ipset.isLoaded(),
      list: () => inside(() => ipset.list()),
      members: (name) => inside(() => ipset.members(name)),
      indexOf: (name) => inside(() => ipset.indexOf(name)),
      nameOf: (index) => inside(() => ipset.nameOf(index)),
      commit: (changes) => inside(() => ipset.commit(changes)),
    });
  });
}

for (const row of behaviourCases) {
  Deno.test(`the kernel's sets: ${row.name}`, () =>
    inOwnNamespace((ipset) => checkCase(ipset, row)));
}

Deno.test("a full set of the kernel names each member that has no room", () =>
  inOwnNamespace(checkFullSet));
