/** Quantities as Kubernetes writes them, as far as sizes of buffers need them. */

const factors: Readonly<Record<string, number>> = {
  "n": 1e-9,
  "u": 1e-6,
  "m": 1e-3,
  "": 1,
  "k": 1e3,
  "M": 1e6,
  "G": 1e9,
  "T": 1e12,
  "P": 1e15,
  "E": 1e18,
  "Ki": 2 ** 10,
  "Mi": 2 ** 20,
  "Gi": 2 ** 30,
  "Ti": 2 ** 40,
  "Pi": 2 ** 50,
  "Ei": 2 ** 60,
};

const decimalSuffixes = ["E", "P", "T", "G", "M", "k", "", "m", "u", "n"];
const binarySuffixes = ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki", ""];

/** The quantity in its canonical form (`1024Ki` is `1Mi`), or undefined when the text is none. */
export function canonicalQuantity(text: string): string | undefined {
  const match = /^([-+]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([-+]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(
    text,
  );
  if (!match) return undefined;
  const [, digits, exponent, suffix = ""] = match;
  const value = Number(`${digits}e${exponent ?? 0}`) * factors[suffix];
  if (!Number.isFinite(value)) return undefined;
  if (value === 0) return "0";
  const binary = suffix.endsWith("i") && Math.abs(value) >= 1024 && Number.isInteger(value);
  for (const candidate of binary ? binarySuffixes : decimalSuffixes) {
    const scaled = value / factors[candidate];
    // Dividing by a power of ten leaves a little dirt in the last digit.
    const whole = Math.round(scaled);
    if (Math.abs(scaled - whole) < 1e-9 && whole !== 0) return spell(whole, candidate, exponent);
  }
  // A fraction of the smallest unit is rounded away from zero.
  return `${Math.sign(value) * Math.ceil(Math.abs(value / factors.n))}n`;
}

/** `e` notation stays `e` notation. */
function spell(whole: number, suffix: string, exponent: string | undefined): string {
  if (exponent === undefined || suffix === "") return `${whole}${suffix}`;
  return `${whole}e${Math.round(Math.log10(factors[suffix]))}`;
}
