/** Rules of anybody, from answers of a kernel that tests/kernel/record_firewall.ts recorded. */
import assert from "node:assert/strict";
import { legacyTable } from "../../../../lib/kernel/firewall/legacy_entries.ts";
import { readNftFirewall } from "../../../../lib/kernel/firewall/nft_firewall.ts";
import type { NfTransport } from "../../../../lib/kernel/nf_tables/transport.ts";
import { listing } from "./listing.ts";

interface Recorded {
  readonly answers: Readonly<Record<string, readonly string[]>>;
  readonly legacy: readonly {
    readonly hookEntries: readonly (number | null)[];
    readonly underflows: readonly (number | null)[];
    readonly entries: string;
  }[];
}

const folder = new URL("recorded/", import.meta.url);
const recorded: Recorded = JSON.parse(Deno.readTextFileSync(new URL("answers.json", folder)));
const everything = { wantsRules: () => true };

function expectGolden(name: string, text: string): void {
  const path = new URL(name, folder);
  if (Deno.env.get("UPDATE_GOLDEN")) Deno.writeTextFileSync(path, text);
  assert.equal(text, Deno.readTextFileSync(path));
}

/** Answers what was recorded; the generation is that of a list, which is used up. */
function replaying(generations: readonly number[] = [1]): NfTransport & { asked: string[] } {
  const asked: string[] = [];
  let at = 0;
  const answer = (key: string) => {
    asked.push(key);
    return (recorded.answers[key] ?? []).map((each) => Uint8Array.fromHex(each));
  };
  const refuse = () => Promise.reject(new Error("nobody should ask"));
  return {
    asked,
    largestBatch: 0,
    generation: () => Promise.resolve(generations[Math.min(at++, generations.length - 1)]),
    commit: refuse,
    query: ({ names, nfproto, type }) =>
      Promise.resolve(answer(`${type} ${nfproto} ${names.map(([, name]) => name).join("/")}`)),
    visit: refuse,
    queryEach: ({ names, query: { names: fixed, nfproto, type } }) =>
      Promise.resolve(
        names.map((name) =>
          answer(`${type} ${nfproto} ${[...fixed.map(([, each]) => each), name].join("/")}`)
        ),
      ),
    digests: refuse,
    compare: refuse,
    lookUp: refuse,
    close: () => {},
  };
}

function blob(at: number) {
  const { entries, hookEntries, underflows } = recorded.legacy[at];
  const places = (list: readonly (number | null)[]) => list.map((each) => each ?? undefined);
  return {
    hookEntries: places(hookEntries),
    underflows: places(underflows),
    entries: Uint8Array.fromHex(entries),
  };
}

Deno.test("readNftFirewall() reads tables, chains, rules and sets of anybody", async () => {
  expectGolden("nft.txt", listing(await readNftFirewall(replaying(), everything)));
});

Deno.test("readNftFirewall() asks for no rule that nobody wants", async () => {
  const transport = replaying();
  const tables = await readNftFirewall(transport, {
    wantsRules: ({ family, name }, chain) => family === "ip" && name === "filter" && chain === "B",
  });
  const read = tables.flatMap(({ chains }) => chains.filter(({ rules }) => rules !== undefined));
  assert.deepEqual(read.map(({ name }) => name), ["B"]);
  assert.deepEqual(transport.asked.filter((key) => key.startsWith("2567 ")), ["2567 2 filter/B"]);
});

Deno.test("readNftFirewall() reads again what changed meanwhile, and gives up", async () => {
  const tables = await readNftFirewall(replaying([1, 2, 3, 3]), everything);
  assert.ok(tables.length > 0);
  await assert.rejects(
    readNftFirewall(replaying(Array.from({ length: 20 }, (_, at) => at)), everything),
    { message: "Cannot read the rules of nf_tables: they changed during each of 5 attempts" },
  );
});

for (const [at, family] of (["IPv4", "IPv6"] as const).entries()) {
  Deno.test(`legacyTable() reads a table of ${family}`, () => {
    const table = legacyTable(blob(at), { family, table: "filter", question: everything });
    expectGolden(`legacy_${family}.txt`, listing([table]));
  });
}

Deno.test("legacyTable() reads no rule that nobody wants, and knows every hook's priority", () => {
  const read = (table: "raw" | "mangle" | "nat" | "filter" | "security") =>
    legacyTable(blob(0), { family: "IPv4", table, question: { wantsRules: () => false } });
  assert.ok(read("filter").chains.every(({ rules }) => rules === undefined));
  const priority = (table: Parameters<typeof read>[0]) => read(table).chains[0].base?.priority;
  assert.deepEqual(
    (["raw", "mangle", "nat", "filter", "security"] as const).map(priority),
    [-300, -150, 100, 0, 50],
  );
  assert.equal(read("nat").chains[2].base?.priority, -100);
  assert.equal(read("nat").chains[0].base?.type, "nat");
});

Deno.test("legacyTable() refuses garbage with a sentence", () => {
  const whole = blob(0);
  const options = { family: "IPv4", table: "filter", question: everything } as const;
  const broken = [
    ...Array.from({ length: whole.entries.length }, (_, cut) => whole.entries.slice(0, cut)),
    ...Array.from(whole.entries, (byte, at) => whole.entries.with(at, byte ^ 0xff)),
  ];
  let refused = 0;
  for (const entries of broken) {
    try {
      legacyTable({ ...whole, entries }, options);
    } catch (error) {
      assert.ok(error instanceof RangeError, `${error}`);
      refused++;
    }
  }
  assert.ok(refused > whole.entries.length / 2, `${refused}`);
});
