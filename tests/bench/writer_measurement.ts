/**
 * One comparison at one size: our writer by netlink, `nft` loading our own rendering, and `nft`
 * loading a chain for every Service. Each has a network namespace to itself.
 *
 * What `nft` reads is made beforehand, and counted is the time from its start to its end, which is
 * what a proxy that calls it waits for.
 */
import { FakeNftables } from "../../lib/kernel/nftables/fake.ts";
import { inNetworkNamespace } from "../../lib/kernel/netns.ts";
import { operationText } from "../../lib/kernel/nftables/text.ts";
import type { ServicePort } from "../../lib/snapshot/snapshot.ts";
import { tableOf } from "../../lib/writers/nftables/names.ts";
import { renderText } from "../../lib/writers/nftables/render.ts";
import { NftablesWriter } from "../../lib/writers/nftables/writer.ts";
import { createNamespaces, ownedPrefix, removeNamespaces } from "../kernel/rig/namespaces.ts";
import { changeText, loadText } from "./chain_per_service.ts";
import { type ClusterSize, servicePorts, snapshotOf, withOtherEndpoints } from "./services.ts";
import type { WriterFigures, WriterOrder } from "./writer_subject.ts";

/** How much to measure. */
export interface MeasurementOptions extends ClusterSize {
  /** Changes of our writer, one after the other. */
  readonly changes: number;
  /** Changes by `nft`, which are far slower. */
  readonly nftChanges: number;
  /** Loads and adoptions of our writer, each in a fresh process. */
  readonly rounds: number;
}

/** Milliseconds of one way to write. */
export interface WayFigures {
  readonly loadsMs: readonly number[];
  readonly changesMs: readonly number[];
}

/** Everything that was measured at one size. */
export interface Measurement {
  readonly writer: WayFigures & {
    readonly adoptionsMs: readonly number[];
    /** Operations that the adoptions wrote: 0, since nothing was to do. */
    readonly adoptionsWrote: number;
  };
  readonly nft: WayFigures;
  readonly chainPerService: WayFigures;
}

/** The flags that the program is built with: they decide how its memory is swept. */
const v8Flags =
  "--v8-flags=--max-semi-space-size=2,--no-memory-reducer,--no-allocation-site-pretenuring,--expose-gc";

/** Measures one size. */
export async function measure(options: MeasurementOptions): Promise<Measurement> {
  const ports = servicePorts(options);
  const snapshot = snapshotOf(ports);
  return {
    writer: await measureWriter(options),
    nft: await measureNft({
      load: renderText(snapshot, { masqueradeBit: 14 }),
      changes: await ownChanges(ports, options.nftChanges),
    }),
    chainPerService: await measureNft({
      load: loadText(ports),
      changes: everyChange(ports, options.nftChanges).map(({ after }) => changeText(after)),
    }),
  };
}

async function measureWriter(options: MeasurementOptions): Promise<Measurement["writer"]> {
  const loadsMs: number[] = [];
  const adoptionsMs: number[] = [];
  const changesMs: number[] = [];
  let adoptionsWrote = 0;
  for (let round = 0; round < options.rounds; round++) {
    await inOwnNamespace(async (path) => {
      const isLast = round === options.rounds - 1;
      const loaded = await subject(path, { ...options, changes: isLast ? options.changes : 0 });
      loadsMs.push(loaded.syncMs);
      changesMs.push(...loaded.changesMs);
      const adopted = await subject(path, { ...options, changes: 0 });
      adoptionsMs.push(adopted.syncMs);
      adoptionsWrote += adopted.written;
    });
  }
  return { loadsMs, adoptionsMs, adoptionsWrote, changesMs };
}

async function measureNft(
  { changes, load }: { readonly load: string; readonly changes: readonly string[] },
): Promise<WayFigures> {
  const loadsMs: number[] = [];
  const changesMs: number[] = [];
  await inOwnNamespace(async (path) => {
    loadsMs.push(await timeNft(path, load));
    for (const text of changes) changesMs.push(await timeNft(path, text));
  });
  return { loadsMs, changesMs };
}

/** A change and its reversal, for one Service after the other: an even number leaves nothing changed. */
function everyChange(
  ports: readonly ServicePort[],
  count: number,
): readonly { readonly before: ServicePort; readonly after: ServicePort }[] {
  return Array.from({ length: count }, (_, i) => {
    const port = ports[((i >> 1) * 7919) % ports.length];
    const other = withOtherEndpoints(port);
    return i % 2 === 0 ? { before: port, after: other } : { before: other, after: port };
  });
}

/** What our writer commits for each change, as text: it does not depend on the other Services. */
async function ownChanges(
  ports: readonly ServicePort[],
  count: number,
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const { after, before } of everyChange(ports, count)) {
    const nftables = new FakeNftables();
    const writer = new NftablesWriter({ family: "IPv4", nftables, masqueradeBit: 14 });
    const { signal } = new AbortController();
    await writer.sync(snapshotOf([before]), { kind: "all" }, signal);
    const known = nftables.commits.length;
    const services = new Set([after.key]);
    await writer.sync(snapshotOf([after]), { kind: "some", services, settings: false }, signal);
    const lines = nftables.commits.slice(known)
      .flatMap(({ operations }) => operations)
      .map((operation) => operationText(tableOf("IPv4"), operation));
    texts.push(`${lines.join("\n")}\n`);
  }
  return texts;
}

async function subject(path: string, order: WriterOrder): Promise<WriterFigures> {
  const script = new URL("writer_subject.ts", import.meta.url).pathname;
  const child = inNetworkNamespace(path, () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--no-check", v8Flags, script, JSON.stringify(order)],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn());
  const { stdout, success } = await child.output();
  if (!success) throw new Error(`Cannot measure the writer with ${order.services} Services`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** From the start of `nft` to its end. */
async function timeNft(path: string, text: string): Promise<number> {
  const bytes = new TextEncoder().encode(text);
  const started = performance.now();
  const child = inNetworkNamespace(path, () =>
    new Deno.Command("nft", {
      args: ["-f", "-"],
      stdin: "piped",
      stdout: "null",
      stderr: "inherit",
    }).spawn());
  const input = child.stdin.getWriter();
  await input.write(bytes);
  await input.close();
  const { success } = await child.status;
  if (!success) throw new Error("Cannot load the text that is measured: see what nft said");
  return performance.now() - started;
}

async function inOwnNamespace(body: (path: string) => Promise<void>): Promise<void> {
  const name = `${ownedPrefix()}bench`;
  await createNamespaces([name]);
  try {
    await body(`/run/netns/${name}`);
  } finally {
    await removeNamespaces([name]);
  }
}
