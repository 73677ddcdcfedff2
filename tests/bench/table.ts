/** Prints measurements as a Markdown table: readable on a terminal and in a page. */

export interface Column {
  readonly title: string;
  readonly right?: boolean;
}

/** One line per row, cells padded to their column. */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, 3, ...rows.map((row) => row[i].length))
  );
  const line = (cells: readonly string[]) =>
    `| ${
      cells.map((cell, i) => columns[i].right ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))
        .join(" | ")
    } |`;
  const rule = `|${
    columns.map(({ right }, i) => `${"-".repeat(widths[i] + 1)}${right ? ":" : "-"}`).join("|")
  }|`;
  return [line(columns.map(({ title }) => title)), rule, ...rows.map(line)].join("\n");
}

/** The value below which so large a share of the samples lies; nearest rank. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** Milliseconds with three significant digits. */
export function formatMs(milliseconds: number): string {
  return milliseconds >= 100 ? milliseconds.toFixed(0) : milliseconds.toPrecision(3);
}

/** `212x` */
export function formatRatio(ratio: number): string {
  return `${ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(1)}x`;
}

/** Prints a line for the report. */
export function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
