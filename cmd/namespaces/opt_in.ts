/** `namespaces opt-in NAME…`: proxies serve the namespaces again. */
import type { Command } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import { changeNamespaces, dryRunFlag, yesFlag } from "./change.ts";
import { type Connect, connectToCluster, kubeconfigFlag } from "./connection.ts";
import { offerNamespaces } from "./offer.ts";

/** The command for the cluster that flags and environment name. */
export const optInCommand = createOptInCommand(connectToCluster);

/** The command over whatever client `connect` opens. For tests: they bring a cluster. */
export function createOptInCommand(connect: Connect): Command {
  return {
    description: "Removes the label networking.k8s.io/kube-proxy, whoever set it.",
    operands: [{
      name: "NAME",
      repeated: true,
      offer: (context) => offerNamespaces("opt-in", context, connect),
    }],
    flags: [dryRunFlag, kubeconfigFlag, outputFlag, yesFlag],
    examples: [
      { what: "Serve a namespace again", command: "namespaces opt-in shop" },
      { what: "The same in a script", command: "namespaces opt-in shop --yes" },
    ],
    run: (context) => changeNamespaces(context, { action: "opt-in", force: false, connect }),
  };
}
