/** The link that ipvs mode has for as long as it serves, as its settings give it away. */
import type { Kernel } from "../../kernel/kernel.ts";

const setting = "net/ipv4/conf/kube-ipvs0/forwarding";

/** Whether it is there: addresses of Services are this machine's then. */
export function hasIpvsLink({ sysctl }: Pick<Kernel, "sysctl">): boolean {
  return sysctl.read(setting) !== undefined;
}
