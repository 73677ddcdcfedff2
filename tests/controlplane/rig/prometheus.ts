/** Reads figures out of a metrics page, whoever serves it. */

/** The sum of the series of a name whose labels include the given ones; 0 without any. */
export function sumSeries(
  page: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  let sum = 0;
  for (const line of page.split("\n")) {
    if (!line.startsWith(name)) continue;
    const end = line.lastIndexOf(" ");
    const head = line.slice(0, end);
    const series = head === name ? "" : head.slice(name.length);
    if (series !== "" && !series.startsWith("{")) continue;
    const pairs = series.slice(1, -1).split(/,(?=[a-zA-Z_]+=")/);
    if (wanted.every((pair) => pairs.includes(pair))) sum += Number(line.slice(end + 1));
  }
  return sum;
}
