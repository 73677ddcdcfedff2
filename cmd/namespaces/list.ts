/** `namespaces list`: which namespaces are out, since when, and what that saves. */
import type { NamespaceCluster } from "../../lib/namespaces/cluster.ts";
import type { NamespaceFacts } from "../../lib/namespaces/facts.ts";
import { addInventories, countServices, type Inventory } from "../../lib/namespaces/inventory.ts";
import { optOutLabel, optOutValue } from "../../lib/namespaces/label.ts";
import { countProxies } from "../../lib/namespaces/proxies.ts";
import { explainRead } from "../../lib/namespaces/refusals.ts";
import { type Listed, listJson } from "../../lib/namespaces/report.ts";
import { describeProxies, describeSavings, many } from "../../lib/namespaces/text.ts";
import type { Command, CommandContext, Output } from "../command.ts";
import { outputFlag } from "../global_flags.ts";
import {
  type Connect,
  connectToCluster,
  kubeconfigFlag,
  openCluster,
  orMissingRights,
} from "./connection.ts";

/** The command for the cluster that flags and environment name. */
export const listCommand = createListCommand(connectToCluster);

/** The command over whatever client `connect` opens. For tests: they bring a cluster. */
export function createListCommand(connect: Connect): Command {
  return {
    description: 'The time shows "unknown" where a namespace\'s managed fields do not hold it.',
    operands: [],
    flags: [kubeconfigFlag, outputFlag],
    examples: [
      { what: "What is out, and what that saves", command: "namespaces list" },
      {
        what: "The names alone",
        command: "namespaces list -o json | jq -r '.namespaces[].name'",
      },
    ],
    run: (context) =>
      orMissingRights(context, async () => {
        const cluster = await openCluster(context, connect);
        try {
          return await list(context, cluster);
        } catch (error) {
          throw explainRead(error, "list");
        }
      }),
  };
}

async function list(context: CommandContext, cluster: NamespaceCluster): Promise<number> {
  const { arguments: args, stdout, stderr } = context;
  const labelled = await cluster.labelled();
  const out = labelled.filter(({ optedOut }) => optedOut);
  const inventories = await cluster.inventories(
    out.map(({ name }) => name),
    progress(stderr, out.length),
  );
  const found = await cluster.proxies();
  const proxies = found && countProxies(found);
  const byName = new Map(out.map(({ name }, i) => [name, inventories[i]]));
  const listed = labelled.map((facts) => ({ facts, inventory: byName.get(facts.name) }));
  const inventory = addInventories(inventories);
  if (args.get(outputFlag) === "json") {
    stdout.write(listJson(listed, { inventory, proxies }));
    return 0;
  }
  stdout.write(listText(listed, inventory));
  if (out.length > 0) stdout.write(describeProxies(proxies));
  return 0;
}

function listText(listed: readonly Listed[], total: Inventory): string {
  const out = listed.flatMap(({ facts, inventory }) => inventory ? [row(facts, inventory)] : []);
  const idle = listed.filter(({ facts }) => !facts.optedOut).map(({ facts }) =>
    `${facts.name}: the value "${facts.value}" of ${optOutLabel} means nothing; only "${optOutValue}" does\n`
  );
  if (out.length === 0) return ["No namespace is opted out\n", ...idle].join("");
  const table = aligned([["NAMESPACE", "SINCE", "BY", "SERVICES", "ENDPOINTS"], ...out]);
  const sum = `${many(out.length, "namespace")}; saved per node: ${describeSavings(total)}\n`;
  return [table, sum, ...idle].join("");
}

function row({ name, since, managers }: NamespaceFacts, inventory: Inventory): readonly string[] {
  return [
    name,
    since ?? "unknown",
    managers.join(",") || "unknown",
    String(countServices(inventory)),
    String(inventory.endpoints),
  ];
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((cells) => cells[i].length)));
  return rows.map((cells) =>
    `${cells.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd()}\n`
  ).join("");
}

/** Nothing in a pipe, nothing for a few. */
function progress(stderr: Output, total: number): (done: number) => void {
  if (!stderr.isTerminal || total < 50) return () => {};
  return (done) => {
    if (done % 50 !== 0 && done !== total) return;
    stderr.write(`\r${done} of ${many(total, "namespace")}${done === total ? "\n" : ""}`);
  };
}
