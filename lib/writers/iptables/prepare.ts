/** What is set on a node once, before the first sync, and by a privileged run with `--init-only`. */
import { ensureSysctl } from "../../kernel/sysctl.ts";
import type { PrepareContext } from "../writer.ts";
import type { IptablesSettings } from "./config.ts";
import { servesLocalhost } from "./node_facts.ts";
import { routeLocalnet } from "./sysctls.ts";

/** Sets what the settings need, and says so. Throws `SysctlError` where the kernel refuses. */
export function prepare(
  { localhostNodePorts }: IptablesSettings,
  { kernel, logger, settings }: PrepareContext,
): void {
  const ipv4 = settings.get("IPv4");
  if (!ipv4 || !servesLocalhost({ localhostNodePorts }, "IPv4", ipv4)) return;
  if (!ensureSysctl(kernel.sysctl, routeLocalnet, "1")) return;
  logger.info(
    "Set route_localnet, so that node ports answer on 127.0.0.1; to leave it, set " +
      "iptables.localhostNodePorts to false, or set nodePortAddresses to ranges without loopback",
  );
}
