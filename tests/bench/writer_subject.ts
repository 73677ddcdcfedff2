/**
 * The subject of the writer's benchmark: a process of its own for each measurement, because a proxy
 * that starts is a program that no compiler has warmed up. Runs in the network namespace in which it
 * is started, takes its order as its argument and prints figures as JSON.
 */
import { openNftables } from "../../lib/kernel/nftables/netlink_nftables.ts";
import type { ServicePort } from "../../lib/snapshot/snapshot.ts";
import { NftablesWriter } from "../../lib/writers/nftables/writer.ts";
import type { RuleWriter } from "../../lib/writers/writer.ts";
import { type ClusterSize, servicePorts, snapshotOf, withOtherEndpoints } from "./services.ts";

/** What to do: one first sync, and then so many changes of one Service. */
export interface WriterOrder extends ClusterSize {
  readonly changes: number;
}

/** What came of it. */
export interface WriterFigures {
  /** The first sync, be it a load or an adoption. */
  readonly syncMs: number;
  /** How many operations it wrote. */
  readonly written: number;
  readonly changesMs: readonly number[];
}

const { signal } = new AbortController();

if (import.meta.main) await main(JSON.parse(Deno.args[0]));

async function main(order: WriterOrder): Promise<void> {
  const nftables = await openNftables();
  const writer = new NftablesWriter({ family: "IPv4", nftables, masqueradeBit: 14 });
  const ports = servicePorts(order);
  const snapshot = snapshotOf(ports);
  const started = performance.now();
  const { written } = await writer.sync(snapshot, { kind: "all" }, signal);
  const syncMs = performance.now() - started;
  const changesMs = await change(writer, ports, order.changes);
  const figures: WriterFigures = { syncMs, written, changesMs };
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(figures)));
  nftables.close();
}

/** Gives one Service after the other new endpoints, and their old ones back. */
async function change(
  writer: RuleWriter,
  ports: readonly ServicePort[],
  count: number,
): Promise<readonly number[]> {
  const services = new Map(ports.map((port) => [port.key, port]));
  const snapshot = { ...snapshotOf([]), services };
  const taken: number[] = [];
  for (let i = 0; i < count; i++) {
    const port = ports[((i >> 1) * 7919) % ports.length];
    services.set(port.key, i % 2 === 0 ? withOtherEndpoints(port) : port);
    // A change comes from the outside: the event loop has had a turn.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const started = performance.now();
    const changed = new Set([port.key]);
    await writer.sync(snapshot, { kind: "some", services: changed, settings: false }, signal);
    taken.push(performance.now() - started);
  }
  return taken;
}
