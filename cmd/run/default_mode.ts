/** What there is to say where nobody chose the mode. */
import type { Proxy } from "./proxy.ts";

/** One sentence: in the log, and for an apiserver as upstream's Event of the Node. */
export function tellDefaultMode({ context, events, nodeName, options }: Proxy): void {
  const { configuration: { mode }, manifests, modeIsDefault } = options;
  if (!modeIsDefault) return;
  if (manifests.length > 0) {
    context.logger.info(`No mode is set: with files that means ${mode}`);
    return;
  }
  const note =
    `No mode is set: that means ${mode} until Kubernetes 1.40 and nftables from then on; ` +
    `set "mode: ${mode}" to stay or "mode: nftables" to move now`;
  context.logger.error(note);
  const about = { kind: "Node", namespace: "", name: nodeName } as const;
  events.emit({
    about,
    type: "Warning",
    reason: "KubeProxyDefaultMode",
    action: "StartKubeProxy",
    note,
  });
}
