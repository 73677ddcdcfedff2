/** How the `namespaces` commands reach a cluster, and how they tell what they may not. */
import { systemClock } from "../../lib/base/clock.ts";
import { UsageError } from "../../lib/base/errors.ts";
import { path } from "../../lib/base/flag_values.ts";
import { defineFlag } from "../../lib/base/flags.ts";
import { programVersion } from "../../lib/base/version.ts";
import { SystemCommands } from "../../lib/kernel/commands.ts";
import type { KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connect.ts";
import { NamespaceCluster } from "../../lib/namespaces/cluster.ts";
import { MissingRights } from "../../lib/namespaces/refusals.ts";
import { selectors } from "../../lib/watchers/resources.ts";
import type { CommandContext } from "../command.ts";

export const kubeconfigFlag = defineFlag({
  name: "kubeconfig",
  type: path,
  summary: "kubeconfig of the cluster; without it $KUBECONFIG, and in a pod its service account",
  fallback: "",
});

/** Opens a client; tests bring their own. */
export type Connect = (context: CommandContext) => Promise<KubeClient>;

/** A client of the cluster that flag, environment or pod name. */
export function connectToCluster(context: CommandContext): Promise<KubeClient> {
  return connect({
    kubeconfig: context.arguments.get(kubeconfigFlag) || environmentKubeconfig(context),
    master: "",
    environment: context.env,
    userAgent: `kube-proxy/${programVersion} namespaces`,
    qps: 0,
    burst: 1,
    commands: new SystemCommands(context.env("PATH") ?? ""),
    clock: systemClock,
  });
}

/** The cluster as the commands see it. */
export async function openCluster(
  context: CommandContext,
  connectTo: Connect,
): Promise<NamespaceCluster> {
  const client = await connectTo(context);
  return new NamespaceCluster({ client, selectors, signal: context.signal });
}

/** Prints the role behind the sentence and resolves to 1; throws everything else. */
export async function orMissingRights(
  { stderr }: Pick<CommandContext, "stderr">,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MissingRights)) throw error;
    stderr.write(`Error: ${error.message}\n${error.role}`);
    return 1;
  }
}

function environmentKubeconfig({ env }: CommandContext): string {
  const value = env("KUBECONFIG") ?? "";
  if (!value.includes(":")) return value;
  throw new UsageError(`KUBECONFIG names several files ("${value}"); give one with --kubeconfig`);
}
