/** The names of namespaces that `opt-out` and `opt-in` offer while somebody types. */
import type { NamespaceCluster } from "../../lib/namespaces/cluster.ts";
import type { Action } from "../../lib/namespaces/plan.ts";
import type { CommandContext } from "../command.ts";
import { type Connect, openCluster } from "./connection.ts";

/** To opt-out those that are served, to opt-in those with the label; throws when the cluster does not tell. */
export async function offerNamespaces(
  action: Action,
  context: CommandContext,
  connect: Connect,
): Promise<readonly string[]> {
  const found = await candidates(action, await openCluster(context, connect));
  return found.map(({ name }) => name);
}

async function candidates(action: Action, cluster: NamespaceCluster) {
  if (action === "opt-in") return await cluster.labelled();
  return (await cluster.all()).filter(({ optedOut }) => !optedOut);
}
