/** What the proxy says when it starts and when it has arrived: what it does, for whom, and where to look. */
import { programVersion } from "../../lib/base/version.ts";
import { tellDefaultMode } from "./default_mode.ts";
import { tellDeprecatedMode } from "./deprecated_mode.ts";
import type { Proxy } from "./proxy.ts";

/** A few lines; details are on `/statusz` and `/configz`. */
export function announce(proxy: Proxy): void {
  const { context, description, families, nodeName, options, state } = proxy;
  const { configuration } = options;
  const { addresses } = state.nodeIPs;
  context.logger.info("Starting kube-proxy", {
    version: options.reportedVersion,
    build: programVersion,
    mode: configuration.mode,
    families: families.join(","),
    source: description,
  });
  tellDefaultMode(proxy);
  tellDeprecatedMode(proxy);
  context.logger.info("This node", {
    name: nodeName,
    addresses: families.map((family) => addresses[family]).join(","),
    detectLocalMode: configuration.detectLocalMode,
    nodePortAddresses: configuration.nodePortAddresses.join(","),
  });
  if (options.once) return;
  context.logger.info("Pages", {
    healthz: configuration.healthzBindAddress,
    metrics: configuration.metricsBindAddress,
  });
}

/** The first moment at which every Service that is known works. */
export function announceSynced({ clock, context, families, startMs, state }: Proxy): void {
  const counts = families.map((family) => state.families.get(family)?.counts);
  const sum = (field: "servicePorts" | "endpoints") =>
    counts.reduce((total, each) => total + (each?.[field] ?? 0), 0);
  context.logger.info("In sync", {
    servicePorts: sum("servicePorts"),
    endpoints: sum("endpoints"),
    seconds: ((clock.now() - startMs) / 1000).toFixed(2),
  });
}
