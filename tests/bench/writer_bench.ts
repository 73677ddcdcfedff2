/** `scripts/bench writer`: our writer by netlink against `nft`, with our layout and with a chain per Service. */
import { formatMs, formatRatio, formatTable, median, percentile } from "./table.ts";
import { measure, type Measurement } from "./writer_measurement.ts";

const sizes: readonly number[] = Deno.args.length > 0
  ? Deno.args.map(Number)
  : [1_000, 5_000, 10_000];
const endpoints = 10;

/** One line of the table: our figure, and how many times longer the others take. */
interface Row {
  readonly what: string;
  readonly writer: number;
  readonly nft?: number;
  readonly chainPerService?: number;
}

function rowsOf({ chainPerService, nft, writer }: Measurement): readonly Row[] {
  return [
    {
      what: "load into an empty kernel",
      writer: median(writer.loadsMs),
      nft: median(nft.loadsMs),
      chainPerService: median(chainPerService.loadsMs),
    },
    { what: "restart, nothing to do", writer: median(writer.adoptionsMs) },
    {
      what: "other endpoints for one Service, median",
      writer: median(writer.changesMs),
      nft: median(nft.changesMs),
      chainPerService: median(chainPerService.changesMs),
    },
    {
      what: "other endpoints for one Service, p99",
      writer: percentile(writer.changesMs, 0.99),
      nft: percentile(nft.changesMs, 0.99),
      chainPerService: percentile(chainPerService.changesMs, 0.99),
    },
  ];
}

function cells(services: number, { chainPerService, nft, what, writer }: Row): readonly string[] {
  const compared = (other: number | undefined) =>
    other === undefined ? ["", ""] : [formatMs(other), formatRatio(other / writer)];
  return [
    `${services} x ${endpoints}`,
    what,
    formatMs(writer),
    ...compared(nft),
    ...compared(chainPerService),
  ];
}

async function main(): Promise<void> {
  const rows: (readonly string[])[] = [];
  for (const services of sizes) {
    const measurement = await measure({
      services,
      endpoints,
      changes: 1_000,
      nftChanges: 200,
      rounds: 5,
    });
    if (measurement.writer.adoptionsWrote > 0) throw new Error("An adoption wrote something");
    for (const row of rowsOf(measurement)) rows.push(cells(services, row));
  }
  const right = true;
  const columns = [
    { title: "Services x endpoints" },
    { title: "milliseconds" },
    { title: "writer", right },
    { title: "nft -f -, same table", right },
    { title: "ratio", right },
    { title: "nft -f -, a chain per Service", right },
    { title: "ratio", right },
  ];
  const text = `${formatTable(columns, rows)}\n\n` +
    "The writer's times run from the call of `sync` to its return, with everything acknowledged by\n" +
    "the kernel, in a fresh process for each load and each restart (medians of 5) and for 1,000\n" +
    "changes one after the other. The times of `nft` run from its start to its end, its text made\n" +
    "beforehand: one load, 200 changes. A change replaces all endpoints of a Service.\n";
  await Deno.stdout.write(new TextEncoder().encode(text));
}

if (import.meta.main) await main();
