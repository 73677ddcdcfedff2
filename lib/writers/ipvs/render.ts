/** What a first sync writes, as the tools for it read it: for `--dry-run`, and for people. */
import { setText } from "../../kernel/ipset/text.ts";
import { destinationText, serverText } from "../../kernel/ipvs/text.ts";
import { toolOf } from "../../kernel/xtables/rules.ts";
import { changesText } from "../../kernel/xtables/text.ts";
import type { Xtables } from "../../kernel/xtables/xtables.ts";
import type { ServicePort } from "../../snapshot/snapshot.ts";
import { ChainKeeper } from "./chain_keeper.ts";
import { contributionOf, type IpvsContext } from "./contribution.ts";
import { linkName, setOf, setRoles } from "./names.ts";
import { skeleton } from "./rules/chains.ts";
import { Wanted } from "./wanted.ts";

/** Each part under a line that names its tool, in the order in which they would be loaded. */
export function renderText(context: IpvsContext, services: Iterable<ServicePort>): string {
  const wanted = new Wanted(context);
  for (const servicePort of services) {
    const after = contributionOf(servicePort, context);
    wanted.change(servicePort.key, { before: undefined, after });
  }
  return [
    part("ipset restore", setLines(wanted)),
    part(`${toolOf(context.family)}-restore --noflush`, [rulesText(wanted).trimEnd()]),
    part("ipvsadm --restore", serverLines(wanted)),
    part("ip -force -batch -", addressLines(wanted)),
  ].join("");
}

function part(tool: string, lines: readonly string[]): string {
  return [`# ${tool}`, ...lines].map((line) => `${line}\n`).join("");
}

function setLines(wanted: Wanted): readonly string[] {
  return setRoles.flatMap((role) => {
    const set = setOf(role, wanted.context.family);
    const members = [...wanted.members(role).keys()].sort();
    return [setText(set), ...members.map((member) => `add ${set.name} ${member}`)];
  });
}

function rulesText(wanted: Wanted): string {
  const { context, outRules } = wanted;
  const hasMembers = (role: typeof setRoles[number]) => wanted.members(role).size > 0;
  const chains = skeleton({ context, hasMembers });
  const changes = new ChainKeeper(context.family, noTables).changes({ chains, outRules });
  return changesText(changes, context.family);
}

/** Nothing is read and nothing is written where text is made. */
const noTables: Pick<Xtables, "read" | "commit"> = {
  read: () => Promise.resolve({ chains: [], rules: never, differing: never }),
  commit: never,
};

function never(): never {
  throw new Error("Cannot reach tables: there are none behind a text");
}

function serverLines({ servers }: Wanted): readonly string[] {
  return [...servers.values()].flatMap(({ destinations, server }) => [
    {
      key: serverText(server),
      lines: [
        serverText(server),
        ...[...destinations.values()].map((each) => destinationText(server, each)).sort(),
      ],
    },
  ]).sort((a, b) => a.key < b.key ? -1 : 1).flatMap(({ lines }) => lines);
}

function addressLines({ addresses, context: { family } }: Wanted): readonly string[] {
  const length = family === "IPv4" ? 32 : 128;
  return [
    `link add ${linkName} type dummy`,
    ...[...addresses.keys()].sort().map((ip) => `address add ${ip}/${length} dev ${linkName}`),
  ];
}
