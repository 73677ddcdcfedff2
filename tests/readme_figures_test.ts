/** The figures of README are those that the benches wrote into docs/measurements. */
import assert from "node:assert/strict";

const root = new URL("../", import.meta.url).pathname;

/** A table's cells by the text of their row, below the heading where there is one. */
function tableOf(page: string, heading = ""): ReadonlyMap<string, readonly string[]> {
  const section = heading === "" ? page : page.split(`\n## ${heading}`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => /^\|.*\|$/.test(line))
    .map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim()));
  return new Map(rows.map(([what, ...cells]) => [what, cells]));
}

/** README's rows, as the measured figures say them. */
function expectedRows(start: string, change: string): Readonly<Record<string, readonly string[]>> {
  const starts = tableOf(start, "10000 Services x 10");
  const changes = tableOf(change, "10000 Services x 10");
  const measured = (what: string) => {
    const [ours, upstream] = starts.get(what) ?? assert.fail(`no row "${what}" was measured`);
    return [Number(ours), Number(upstream)];
  };
  const row = (what: string, say: (figure: number) => string) => measured(what).map(say);
  const seconds = (ms: number) => `${two(ms / 1000)} s`;
  const peaks = measured("peak RSS, MB");
  const rests = measured("RSS at rest, MB");
  const times = (proxy: string) => {
    const cells = changes.get(proxy) ?? assert.fail(`"${proxy}" was not measured`);
    return `${cells[1]}, ${cells[2]}`;
  };
  const [changeOurs, changeTheirs] = [times("ours"), times("upstream")]
    .map((text) => text.split(", ").map(three).join(", "));
  const hurried = times("upstream, minSyncPeriod 10ms");
  return {
    "start of the process until the last Service answers": row("start to last VIP, ms", seconds),
    "restart to a change's effect": row("restart to a change's effect, ms", seconds),
    "processor time of the start": row("CPU of the start, ms", seconds),
    "memory: peak, at rest": peaks.map((peak, i) => `${peak}, ${rests[i]} MB`),
    "received from the apiserver": row("received, MB", (figure) => `${tenths(figure)} MB`),
    "a change of endpoints to a packet: p50, p99": [
      `${changeOurs} ms`,
      `${changeTheirs} ms; ${hurried} ms with \`minSyncPeriod\` 10 ms`,
    ],
  };
}

/** Two digits that count: `1.1`, `18`. */
function two(figure: number): string {
  return figure < 10 ? tenths(figure) : String(Math.round(figure));
}

/** Half a tenth counts as one: `toFixed` makes 2.0 of 2.05. */
function tenths(figure: number): string {
  return (Math.round(figure * 10 + 1e-9) / 10).toFixed(1);
}

/** Of a time in milliseconds: `2.8`, `11.6`, `1318`. */
function three(text: string): string {
  return Number(text) < 100 ? tenths(Number(text)) : text;
}

async function pages(): Promise<{ readonly start: string; readonly change: string }> {
  const read = (name: string) => Deno.readTextFile(`${root}docs/measurements/${name}.md`);
  return { start: await read("start"), change: await read("change") };
}

Deno.test("README's table of figures is what docs/measurements says", async () => {
  const { start, change } = await pages();
  const shown = tableOf(await Deno.readTextFile(`${root}README.md`), "How it compares");
  for (const [what, cells] of Object.entries(expectedRows(start, change))) {
    assert.deepEqual(
      shown.get(what),
      cells,
      `README's row "${what}" is not what was measured last`,
    );
  }
});

Deno.test("another figure in docs/measurements makes another row of README", async () => {
  const { start, change } = await pages();
  const other = start.replaceAll(/^(\| CPU of the start, ms +\| +)\d+/gm, "$12345");
  assert.notEqual(other, start);
  assert.equal(expectedRows(other, change)["processor time of the start"][0], "2.3 s");
});
