/** The health-check node ports of a proxy, and who is told when one cannot be opened. */
import type { IpFamily } from "../../lib/base/ip_family.ts";
import { ListedPorts, type SharedPorts } from "../../lib/health/ports.ts";
import type { ProxyHealth } from "../../lib/health/proxy_health.ts";
import { type HealthCheckService, ServiceHealthServers } from "../../lib/health/service_health.ts";
import type { NodePortAddresses } from "../../lib/snapshot/snapshot.ts";
import type { Proxy } from "./proxy.ts";

export function healthCheckPorts(
  { events, context, nodeName, state }: Proxy,
  family: IpFamily,
  { health, everywhere }: { readonly health: ProxyHealth; readonly everywhere: SharedPorts },
) {
  const where = () => state.families.get(family)?.settings.nodePortAddresses;
  return new ServiceHealthServers({
    // Whether addresses are listed is the configuration's choice; which ones there are changes.
    ports: where()?.kind === "listed"
      ? new ListedPorts(() => listedAddresses(where()))
      : everywhere.of(family),
    isProxyHealthy: () => health.isAlive(),
    onListenFailure: (service: HealthCheckService, error) => {
      const { namespace, name, port } = service;
      const cause = error instanceof Error ? error.message : String(error);
      const note =
        `node ${nodeName} failed to start healthcheck "${namespace}/${name}" on port ${port}: ${cause}`;
      context.logger.error("Failed to start healthcheck", error, {
        node: nodeName,
        service: `${namespace}/${name}`,
        port,
      });
      const about = { kind: "Service", namespace, name } as const;
      events.emit({
        about,
        type: "Warning",
        reason: "FailedToStartServiceHealthcheck",
        action: "Listen",
        note,
      });
    },
  });
}

const none: readonly string[] = [];

function listedAddresses(addresses: NodePortAddresses | undefined): readonly string[] {
  return addresses?.kind === "listed" ? addresses.addresses : none;
}
