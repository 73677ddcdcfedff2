/** Sends a packet to each frontend of the rules that are loaded, and compares what came of it. */
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { joinHostPort } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { chooseFrontends } from "./choose_frontends.ts";
import { freeEnds } from "./free_ends.ts";
import {
  describeFrontend,
  type Expectation,
  expectFromNode,
  expectFromOutside,
  type Frontend,
  frontendsOf,
} from "./frontends.ts";
import type { PacketFault, PacketReport } from "./report.ts";
import type { Outcome } from "./outcome_of.ts";
import type { Attempt, Ends, PacketNetwork } from "./scratch_network.ts";

/** What packets are sent through, and to how many frontends at most. */
export interface SendOptions {
  /** Throws where there is no such network. */
  readonly open: (ends: ReadonlyMap<IpFamily, Ends>) => Promise<PacketNetwork>;
  readonly clock: Clock;
  readonly most: number;
}

/** Never throws. */
export async function sendPackets(
  snapshots: readonly Snapshot[],
  { clock, most, open }: SendOptions,
): Promise<PacketReport> {
  if (snapshots.length === 0) return { kind: "none", because: "no family's rules were loaded" };
  const ends = new Map<IpFamily, Ends>();
  for (const snapshot of snapshots) {
    const free = freeEnds(snapshot);
    if (free) ends.set(snapshot.family, free);
  }
  if (ends.size < snapshots.length) {
    return { kind: "none", because: "every range for documentation belongs to a Service or a pod" };
  }
  try {
    using network = await open(ends);
    const startedAt = clock.monotonic();
    const parts = snapshots.flatMap((snapshot) => {
      const own = ends.get(snapshot.family);
      return own ? [new FamilyRound(snapshot, { ends: own, network })] : [];
    });
    const sum = (count: (part: FamilyRound) => number) =>
      parts.reduce((total, part) => total + count(part), 0);
    const all = Math.max(most, sum(({ frontends }) => frontends.length));
    for (const part of parts) await part.run(Math.ceil(most * part.frontends.length / all));
    return {
      kind: "sent",
      sent: sum(({ sent }) => sent),
      tried: sum(({ tried }) => tried),
      frontends: sum(({ frontends }) => frontends.length),
      milliseconds: Math.round(clock.monotonic() - startedAt),
      faults: parts.flatMap(({ faults }) => faults),
    };
  } catch (error) {
    return { kind: "none", because: describeError(error) };
  }
}

interface Surroundings {
  readonly ends: Ends;
  readonly network: PacketNetwork;
}

/** One family's packets. */
class FamilyRound {
  readonly frontends: readonly Frontend[];
  readonly faults: PacketFault[] = [];
  sent = 0;
  tried = 0;
  readonly #snapshot: Snapshot;
  readonly #ends: Ends;
  readonly #network: PacketNetwork;
  readonly #nodeAddresses: readonly string[];

  constructor(snapshot: Snapshot, { ends, network }: Surroundings) {
    this.#snapshot = snapshot;
    this.#ends = ends;
    this.#network = network;
    const { nodePortAddresses } = snapshot.settings;
    this.#nodeAddresses = nodePortAddresses.kind === "listed"
      ? nodePortAddresses.addresses
      : [ends.node];
    this.frontends = frontendsOf(snapshot, this.#nodeAddresses);
  }

  async run(most: number): Promise<void> {
    const chosen = chooseFrontends(this.frontends, most);
    for (const frontend of chosen) if (frontend.kind !== "node port") this.#try(frontend);
    // Endpoints on the node itself have its addresses: until here those were somewhere outside.
    const added = this.#nodeAddresses.filter((ip) => ip !== this.#ends.node);
    for (const ip of added) await this.#network.addNodeAddress(ip);
    for (const frontend of chosen) if (frontend.kind === "node port") this.#try(frontend);
    for (const ip of added) await this.#network.removeNodeAddress(ip);
  }

  #try(frontend: Frontend): void {
    this.tried++;
    const { settings } = this.#snapshot;
    const outside = expectFromOutside(frontend, { client: this.#ends.client, settings });
    this.#compare(frontend, { from: "outside", expected: outside });
    const node = expectFromNode(frontend);
    if (node) this.#compare(frontend, { from: "node", expected: node });
  }

  #compare(
    frontend: Frontend,
    { expected, from }: Pick<Attempt, "from"> & { readonly expected: Expectation },
  ): void {
    const { ip, kind, port, protocol, service } = frontend;
    this.sent++;
    const outcome = this.#network.attempt({ from, to: ip, port, protocol });
    // A node port may lead to the node itself, where nobody listens in the scratch namespace.
    if (kind === "node port" && outcome.kind !== "forwarded" && this.#leadsHere(expected)) return;
    if (isAsExpected(outcome, expected, this.#ends)) return;
    this.faults.push({
      frontend: describeFrontend(frontend),
      servicePort: service.key,
      what: `${from === "node" ? "from the node: " : ""}expected ${describeExpected(expected)}, ${
        describeOutcome(outcome)
      }`,
    });
  }

  #leadsHere(expected: Expectation): boolean {
    return expected.kind === "endpoint" &&
      [...expected.endpoints].some((endpoint) =>
        this.#nodeAddresses.some((ip) => endpoint.startsWith(joinHostPort(ip, 0).slice(0, -1)))
      );
  }
}

function isAsExpected(outcome: Outcome, expected: Expectation, { client }: Ends): boolean {
  if (expected.kind !== "endpoint") return outcome.kind === expected.kind;
  if (outcome.kind !== "forwarded") return false;
  const { masqueraded } = expected;
  return expected.endpoints.has(joinHostPort(outcome.to, outcome.port)) &&
    (masqueraded === undefined || masqueraded === (outcome.by !== client));
}

function describeExpected(expected: Expectation): string {
  if (expected.kind === "refused") return "a refusal";
  if (expected.kind === "nothing") return "a drop";
  const [first, ...others] = expected.endpoints;
  const rest = others.length === 0 ? "" : ` or ${others.length} others`;
  const { masqueraded } = expected;
  const source = masqueraded === undefined
    ? ""
    : masqueraded
    ? " with this node's address"
    : " with the client's address";
  return `endpoint ${first}${rest}${source}`;
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case "refused":
      return "it was refused";
    case "nothing":
      return "nothing came out";
    case "forwarded":
      return `it went to ${joinHostPort(outcome.to, outcome.port)} from ${outcome.by}`;
  }
}
