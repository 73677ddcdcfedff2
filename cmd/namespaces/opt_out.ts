/** `namespaces opt-out NAME…`: proxies leave the namespaces alone. */
import { boolean } from "../../lib/base/flag_values.ts";
import { defineFlag } from "../../lib/base/flags.ts";
import type { Command } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import { changeNamespaces, dryRunFlag, yesFlag } from "./change.ts";
import { type Connect, connectToCluster, kubeconfigFlag } from "./connection.ts";
import { offerNamespaces } from "./offer.ts";

const forceFlag = defineFlag({
  name: "force",
  type: boolean,
  summary: "opt out default and kube-system too",
  fallback: false,
});

/** The command for the cluster that flags and environment name. */
export const optOutCommand = createOptOutCommand(connectToCluster);

/** The command over whatever client `connect` opens. For tests: they bring a cluster. */
export function createOptOutCommand(connect: Connect): Command {
  return {
    description: "Labels the namespaces networking.k8s.io/kube-proxy=disabled. Shows first what " +
      "stops: cluster IPs, node ports, load balancer and external IPs, session affinity and health " +
      "check node ports of their Services, on every node whose proxy honours the label.",
    operands: [{
      name: "NAME",
      repeated: true,
      offer: (context) => offerNamespaces("opt-out", context, connect),
    }],
    flags: [dryRunFlag, forceFlag, kubeconfigFlag, outputFlag, yesFlag],
    examples: [
      { what: "See what would stop", command: "namespaces opt-out shop --dry-run" },
      { what: "Leave two namespaces to the mesh", command: "namespaces opt-out shop payments" },
      { what: "The same in a script", command: "namespaces opt-out shop payments --yes -o json" },
    ],
    run: (context) =>
      changeNamespaces(context, {
        action: "opt-out",
        force: context.arguments.get(forceFlag),
        connect,
      }),
  };
}
