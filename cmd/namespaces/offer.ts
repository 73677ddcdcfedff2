/** `__complete opt-out|opt-in …`: what shells ask while somebody types the names of namespaces. */
import { linkAbort } from "../../lib/base/abort.ts";
import type { NamespaceCluster } from "../../lib/namespaces/cluster.ts";
import type { Action } from "../../lib/namespaces/plan.ts";
import type { Command, CommandContext } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import { dryRunFlag, yesFlag } from "./change.ts";
import { type Connect, connectToCluster, kubeconfigFlag, openCluster } from "./connection.ts";
import { forceFlag } from "./opt_out.ts";

/** Nobody waits longer for an offer. */
const patienceMs = 2_000;

/** The offers for the cluster that flags and environment name. */
export const optOutOffer = createOfferCommand("opt-out", connectToCluster);
export const optInOffer = createOfferCommand("opt-in", connectToCluster);

/** The command over whatever client `connect` opens. It is given what was typed behind the action. */
export function createOfferCommand(action: Action, connect: Connect): Command {
  return {
    operands: [{ name: "NAME", optional: true, repeated: true }],
    flags: [dryRunFlag, forceFlag, kubeconfigFlag, outputFlag, yesFlag],
    examples: [{ what: "Names that can stand next", command: `__complete ${action}` }],
    async run(context) {
      const typed = new Set(context.arguments.operands);
      const names = await namesFor(action, context, connect);
      for (const name of names) if (!typed.has(name)) context.stdout.write(`${name}\n`);
      return 0;
    },
  };
}

async function namesFor(
  action: Action,
  context: CommandContext,
  connect: Connect,
): Promise<readonly string[]> {
  using patience = linkAbort(context.signal, { afterMs: patienceMs });
  try {
    const cluster = await openCluster({ ...context, signal: patience.signal }, connect);
    const found = await candidates(action, cluster);
    return found.map(({ name }) => name);
  } catch {
    // A cluster that cannot be asked has nothing to offer, and a line being typed is no place to say why.
    return [];
  }
}

async function candidates(action: Action, cluster: NamespaceCluster) {
  if (action === "opt-in") return await cluster.labelled();
  return (await cluster.all()).filter(({ optedOut }) => !optedOut);
}
