/**
 * Recognises addresses that are canonical text already, without allocating: nearly all are, and a
 * hundred thousand of them are read at start. A wrong "no" costs time only; a wrong "yes" would be a bug.
 */

/** Whether the text is what `canonicalIp` would give for it. May be false for some that are. */
export function isCanonicalIpText(text: string): boolean {
  return text.includes(":") ? isCanonicalIpv6(text) : isCanonicalIpv4(text);
}

function isCanonicalIpv4(text: string): boolean {
  let octet = -1;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 48 && code <= 57) {
      if (octet === 0) return false;
      octet = (octet < 0 ? 0 : octet * 10) + code - 48;
      if (octet > 255) return false;
    } else if (code === 46 && octet >= 0) {
      dots++;
      octet = -1;
    } else {
      return false;
    }
  }
  return dots === 3 && octet >= 0;
}

/** Canonical IPv6 text has a gap where the first longest run of two or more zero groups is. */
function isCanonicalIpv6(text: string): boolean {
  const gap = text.indexOf("::");
  if (gap < 0) {
    const groups = readGroups(text, 0, text.length);
    return groups !== undefined && groups.count === 8 && groups.longestRun < 2;
  }
  // ::ffff:… may be an IPv4 address in disguise.
  if (gap === 0 && text.startsWith("::ffff:")) return false;
  const head = readGroups(text, 0, gap);
  const tail = readGroups(text, gap + 2, text.length);
  if (!head || !tail || head.endsInZero || tail.startsWithZero) return false;
  const missing = 8 - head.count - tail.count;
  return missing >= 2 && head.longestRun < missing && tail.longestRun <= missing;
}

interface Groups {
  readonly count: number;
  readonly longestRun: number;
  readonly startsWithZero: boolean;
  readonly endsInZero: boolean;
}

const noGroups: Groups = { count: 0, longestRun: 0, startsWithZero: false, endsInZero: false };

/** Lower-case groups without leading zeros between two positions, or undefined. */
function readGroups(text: string, from: number, to: number): Groups | undefined {
  if (from === to) return noGroups;
  let count = 0;
  let run = 0;
  let longestRun = 0;
  let startsWithZero = false;
  let start = from;
  for (let i = from; i <= to; i++) {
    const code = i === to ? 58 : text.charCodeAt(i);
    if (code !== 58) {
      if (!((code >= 48 && code <= 57) || (code >= 97 && code <= 102))) return undefined;
      continue;
    }
    const length = i - start;
    const zero = text.charCodeAt(start) === 48;
    if (length < 1 || length > 4 || (zero && length > 1)) return undefined;
    run = zero ? run + 1 : 0;
    longestRun = Math.max(longestRun, run);
    startsWithZero ||= zero && count === 0;
    count++;
    start = i + 1;
  }
  return { count, longestRun, startsWithZero, endsInZero: run > 0 };
}
