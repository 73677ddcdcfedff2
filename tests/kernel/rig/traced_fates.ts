/** Asks a listed table, instead of real packets, what becomes of the rows of a table of fates. */
import { joinHostPort } from "../../../lib/base/ip.ts";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import { type Host, hostAddresses, linkGateways } from "../../scenarios/addresses.ts";
import { endpointAddress, endpointHostName } from "../../scenarios/description.ts";
import { expectedFate } from "../../scenarios/expected.ts";
import { type FateRow, nameOfRow } from "../../scenarios/fate.ts";
import { boundToNode } from "../../scenarios/shop_services.ts";
import { destinationOf } from "./destinations.ts";
import type { FateOptions, FateResult } from "./fates.ts";
import { type NftRuleset, parseNftRuleset } from "./nft_ruleset.ts";
import { traceNft, type TraceResult } from "./nft_trace.ts";
import type { Cluster } from "./cluster.ts";

/** Lists the proxy's table of the family as the kernel holds it; `nft` is the witness. */
export async function listProxyTable(
  cluster: Cluster,
  family: IpFamily,
  host: Host = "node",
): Promise<NftRuleset> {
  const nftFamily = family === "IPv4" ? "ip" : "ip6";
  return parseNftRuleset(
    await cluster.run(host, ["nft", "-j", "list", "table", nftFamily, "kube-proxy"]),
  );
}

/** The same results as with packets, from the rules alone. */
export function traceFates(ruleset: NftRuleset, options: FateOptions): readonly FateResult[] {
  return options.rows.map((row) => traceFate(ruleset, row, options));
}

function traceFate(ruleset: NftRuleset, row: FateRow, options: FateOptions): FateResult {
  const { family } = options;
  const to = destinationOf(row, options);
  const result = traceNft(ruleset, {
    fromNode: row.from === "node",
    source: sourceOf(row, { family, destination: to.address }),
    destination: to.address,
    protocol: row.protocol,
    port: to.port,
    nodeAddresses: nodeAddresses(family),
  });
  const expected = describeExpected(row, options);
  const seen = describeTrace(result, row);
  return {
    name: `${family} ${nameOfRow(row)}`,
    // A client that is pinned already has one endpoint left.
    right: row.sticky
      ? seen.every((each) => expected.includes(each))
      : seen.join() === expected.join(),
    expected: expected.join(", "),
    seen: [seen.join(", ")],
  };
}

function sourceOf(
  row: FateRow,
  options: { readonly family: IpFamily; readonly destination: string },
): string {
  const isLoopback = row.to.kind === "node-port" && row.to.at === "loopback";
  if (isLoopback || row.sourceIsDestination) return options.destination;
  return hostAddresses[row.from][options.family];
}

function nodeAddresses(family: IpFamily): ReadonlySet<string> {
  const links = Object.entries(linkGateways).filter(([host]) => host !== "remote-pod");
  return new Set([
    ...links.map(([, addresses]) => addresses[family]),
    ...boundToNode.map((addresses) => addresses[family]),
    family === "IPv4" ? "127.0.0.1" : "::1",
  ]);
}

/** Whether the node's own packets are masqueraded cannot be told from the source they have anyway. */
function describeExpected(row: FateRow, options: FateOptions): readonly string[] {
  const expected = expectedFate(row, options);
  if (expected.kind !== "reached") return [expected.kind];
  return describe([...expected.endpoints].map(([name, source]) => {
    const port = Number(name.slice(name.lastIndexOf(":") + 1));
    const masqueraded = source === "node" && row.from !== "node";
    return [joinHostPort(addressOf(name, options), port), masqueraded];
  }));
}

function describeTrace(result: TraceResult, row: FateRow): readonly string[] {
  if (result.kind !== "reached") return [result.kind];
  return describe(
    [...result.endpoints].map(([endpoint, masqueraded]) => [
      endpoint,
      masqueraded && row.from !== "node",
    ]),
  );
}

function describe(endpoints: readonly (readonly [endpoint: string, masqueraded: boolean])[]) {
  return endpoints.map(([endpoint, masqueraded]) =>
    masqueraded ? `${endpoint} masqueraded` : endpoint
  ).toSorted();
}

function addressOf(name: string, { services, family }: FateOptions): string {
  const host = name.slice(0, name.lastIndexOf(":"));
  for (const service of services) {
    const endpoint = service.endpoints.find((each) => endpointHostName(each) === host);
    if (endpoint) return endpointAddress(endpoint, family);
  }
  throw new RangeError(`Cannot find the endpoint "${name}"`);
}

/** A line for each element and each rule, without handles; places of equals are in sorted order. */
export function linesOf({ baseChains, chains, sets }: NftRuleset): readonly string[] {
  return [
    ...baseChains.map((chain) => `base chain ${JSON.stringify(chain)}`),
    ...[...chains].flatMap(([chain, rules]) => [
      `chain ${chain}`,
      ...rules.map(({ statements }, i) => `${chain} ${i}: ${JSON.stringify(statements)}`),
    ]),
    ...[...sets].flatMap(([name, set]) => [
      `set ${name}`,
      // What clients do is no business of whoever wrote the rules.
      ...name.startsWith("affinity-")
        ? []
        : inAnyPlace(set.toLines()).map((line) => `${name}: ${line}`),
    ]),
  ];
}

/**
 * Elements of a map of endpoints with the endpoints of each frontend in sorted order: which of them
 * has which place is history. Other elements as they are; a gap or a double place stays to be seen.
 */
function inAnyPlace(lines: readonly string[]): readonly string[] {
  const placed = lines.map((line) => /^(\[.*),(\d+)\] : (\{"concat":.*)$/.exec(line));
  if (placed.length === 0 || placed.includes(null)) return lines;
  const frontends = Map.groupBy(placed.filter((each) => each !== null), ([, frontend]) => frontend);
  return [...frontends].flatMap(([frontend, list]) => {
    const places = list.map(([, , place]) => Number(place)).sort((a, b) => a - b);
    const endpoints = list.map(([, , , endpoint]) => endpoint).sort();
    return places.map((place, i) => `${frontend},${place}] : ${endpoints[i]}`);
  });
}
