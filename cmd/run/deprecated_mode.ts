/** What there is to say of a mode that will go. */
import { modeConfigOf } from "../../lib/writers/registry.ts";
import type { Proxy } from "./proxy.ts";

/** At each start: in the log, for an apiserver as an Event of the Node, and as long as it runs in a metric. */
export function tellDeprecatedMode({ context, events, metrics, nodeName, options }: Proxy): void {
  const { mode } = options.configuration;
  const deprecation = modeConfigOf(mode)?.deprecation;
  if (!deprecation) return;
  const { note, reason } = deprecation;
  context.logger.error(note);
  const about = { kind: "Node", namespace: "", name: nodeName } as const;
  events.emit({ about, type: "Warning", reason, action: "StartKubeProxy", note });
  metrics.gauge({
    name: "kubeproxy_deprecated_mode",
    help: "1 while the proxy runs in a mode that a later version will not have, by that mode.",
    labels: ["mode"],
  }).set(1, { mode });
}
