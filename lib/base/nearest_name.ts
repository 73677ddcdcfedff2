/** Finds what somebody probably meant, for "did you mean" hints. */

/**
 * The candidate closest to `name`, or undefined where none is close enough to be a slip: letters
 * left out, doubled, changed or swapped, in at most a third of the name. Case, hyphens and
 * underscores count for little. Of equally close ones the first wins.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let best = Math.max(1, Math.floor(name.length / 3)) + 0.5;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= best + 1) continue;
    const distance = slipDistance(plain(name), plain(candidate)) + (candidate === name ? 0 : 0.25);
    if (distance < best) [nearest, best] = [candidate, distance];
  }
  return nearest;
}

/** `; did you mean "x"?`, or nothing where no candidate is close. */
export function didYouMean(
  name: string,
  candidates: Iterable<string>,
  quote: (name: string) => string = JSON.stringify,
): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? "" : `; did you mean ${quote(nearest)}?`;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

/** Edits between two words, a swap of neighbours counting as one (Damerau-Levenshtein). */
function slipDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = from[i - 1] === to[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + changed);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
      }
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length];
}
