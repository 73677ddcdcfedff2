/** Sends the packets of a table of fates and says for each row what was seen. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import { hostAddresses, linkGateways } from "../../scenarios/addresses.ts";
import type { ServiceDescription } from "../../scenarios/description.ts";
import { type ExpectedFate, expectedFate, type Source } from "../../scenarios/expected.ts";
import { boundToNode } from "../../scenarios/shop_services.ts";
import { type FateRow, nameOfRow } from "../../scenarios/fate.ts";
import type { Setup } from "../../scenarios/setups.ts";
import type { Outcome } from "./agent_protocol.ts";
import type { Cluster } from "./cluster.ts";
import { destinationOf } from "./destinations.ts";
import { patience } from "./patience.ts";
import { ownerOf } from "./servers.ts";

/**
 * IPVS knows an answer by endpoint and client alone, for minutes: where the kernel gave a client one port for two
 * Services with the same endpoint, one of them got no answer. Above the ports of programs, below node ports.
 */
const localPorts = { first: 12_000, count: 18_000 };
let probes = 0;

function nextLocalPort(): number {
  return localPorts.first + probes++ % localPorts.count;
}

export interface FateResult {
  readonly name: string;
  readonly right: boolean;
  readonly expected: string;
  /** Each different outcome once, in the order seen. */
  readonly seen: readonly string[];
}

export interface FateOptions {
  readonly services: readonly ServiceDescription[];
  readonly rows: readonly FateRow[];
  readonly setup: Setup;
  readonly family: IpFamily;
  /** Only wrong fates ever wait so long for their answer; 3 s when absent. */
  readonly answerTimeoutMs?: number;
}

const ANSWER_TIMEOUT_MS = 3000 * patience;
/** How long to wait for an answer that should not come. */
const SILENCE_MS = 600 * patience;
/** With 3 endpoints a right one stays unseen once in 10^10 tables. */
const MOST_ATTEMPTS = 60;
const STICKY_ATTEMPTS = 6;

/** All rows at once; the results are in the order of the rows. */
export async function runFates(
  cluster: Cluster,
  options: FateOptions,
): Promise<readonly FateResult[]> {
  const results = new Map<FateRow, FateResult>();
  // IPVS gives endpoints to all askers in turn: two that ask in step would each meet the same for ever.
  const takesTurns = (row: FateRow) =>
    options.setup.mode.kind === "ipvs" && expectedFate(row, options).kind === "reached";
  const groups = Map.groupBy(
    options.rows,
    (row) => takesTurns(row) ? JSON.stringify([row.to, row.protocol]) : nameOfRow(row),
  );
  await Promise.all([...groups.values()].map(async (rows) => {
    for (const row of rows) results.set(row, await runFate(cluster, row, options));
  }));
  return options.rows.flatMap((row) => results.get(row) ?? []);
}

/** The wrong ones as a readable list; empty when all is well. */
export function describeWrong(results: readonly FateResult[]): string {
  return results.filter((result) => !result.right)
    .map((result) =>
      `${result.name}\n    expected ${result.expected}\n    last seen ${result.seen.join("; ")}`
    ).join("\n");
}

async function runFate(
  cluster: Cluster,
  row: FateRow,
  options: FateOptions,
): Promise<FateResult> {
  const { family } = options;
  const expected = expectedFate(row, options);
  const { address, port } = destinationOf(row, options);
  const probe = () =>
    cluster.agent.probe({
      namespace: cluster.namespace(row.from),
      protocol: row.protocol,
      address,
      port,
      ...(row.sourceIsDestination ? { source: address } : {}),
      ...(options.setup.mode.kind === "ipvs" ? { localPort: nextLocalPort() } : {}),
      timeoutMs: expected.kind === "dropped"
        ? SILENCE_MS
        : options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
    });
  const seen = new Set<string>();
  const endpoints = new Set<string>();
  let right = true;
  for (let i = 0; i < attemptsFor(row, expected) && right; i++) {
    const outcome = await probe();
    seen.add(describeOutcome(outcome));
    right = isRight(outcome, { row, expected, family, address });
    if (outcome.kind === "reached") endpoints.add(outcome.endpoint);
    if (!row.sticky && expected.kind === "reached" && endpoints.size === expected.endpoints.size) {
      break;
    }
  }
  const wanted = expected.kind !== "reached" || row.sticky ? 1 : expected.endpoints.size;
  const complete = expected.kind !== "reached" || endpoints.size === wanted;
  return {
    name: `${family} ${nameOfRow(row)}`,
    right: right && complete,
    expected: describeExpected(row, expected),
    seen: [...seen],
  };
}

function attemptsFor(row: FateRow, expected: ExpectedFate): number {
  if (expected.kind !== "reached") return 1;
  return row.sticky ? STICKY_ATTEMPTS : MOST_ATTEMPTS;
}

function isRight(
  outcome: Outcome,
  options: { row: FateRow; expected: ExpectedFate; family: IpFamily; address: string },
): boolean {
  const { row, expected, family, address } = options;
  if (outcome.kind !== "reached") return outcome.kind === expected.kind;
  if (expected.kind === "untouched") {
    return outcome.endpoint.startsWith(`${ownerOf(row, address)}:`);
  }
  if (expected.kind !== "reached") return false;
  for (const [endpoint, source] of expected.endpoints) {
    if (endpoint === outcome.endpoint) {
      return isSource(outcome.source, { row, source, family, address });
    }
  }
  return false;
}

function isSource(
  seen: string,
  options: { row: FateRow; source: Source; family: IpFamily; address: string },
): boolean {
  const { row, source, family, address } = options;
  if (source === "asked") return seen === address;
  if (source === "node" || row.from === "node") return nodeAddresses(family).includes(seen);
  return seen === hostAddresses[row.from][family];
}

/** The remote pod's gateway is the remote node; all others are the node. */
function nodeAddresses(family: IpFamily): readonly string[] {
  const links = Object.entries(linkGateways).filter(([host]) => host !== "remote-pod");
  return [...links.map(([, addresses]) => addresses), ...boundToNode]
    .map((addresses) => addresses[family]);
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case "reached":
      return `reached ${outcome.endpoint} as ${outcome.source}`;
    case "rejected":
      return `rejected (${outcome.reason})`;
    case "dropped":
      return "dropped";
  }
}

function describeExpected(row: FateRow, expected: ExpectedFate): string {
  if (expected.kind !== "reached") return expected.kind;
  const endpoints = [...expected.endpoints].map(([endpoint, source]) =>
    `${endpoint} as ${source === "own" ? row.from : source}`
  );
  return `${row.sticky ? "always the same of" : "each of"} ${endpoints.join(", ")}`;
}
