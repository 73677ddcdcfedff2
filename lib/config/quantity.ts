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

const decimalSuffixes = ["E", "P", "T", "G", "M", "k", ""];
const binarySuffixes = ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki"];

/** The quantity in its canonical form (`1024Ki` is `1Mi`), or undefined when the text is none. */
export function canonicalQuantity(text: string): string | undefined {
  const match = /^([-+]?(?:\d+\.?\d*|\.\d+))(?:([eE][-+]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(
    text,
  );
  if (!match) return undefined;
  const [, digits, exponent = "", suffix = ""] = match;
  const value = Number(digits + exponent) * factors[suffix];
  if (!Number.isFinite(value)) return undefined;
  // A fraction of the smallest unit is rounded away from zero.
  const whole = Math.sign(value) * Math.ceil(Math.abs(value));
  const suffixes = suffix.endsWith("i") && Math.abs(whole) >= 1024
    ? [...binarySuffixes, ""]
    : decimalSuffixes;
  if (whole === 0) return "0";
  if (exponent !== "") return exponentForm(whole);
  const fitting = suffixes.find((candidate) => whole % factors[candidate] === 0) ?? "";
  return `${whole / factors[fitting]}${fitting}`;
}

/** `e` notation stays `e` notation, with an exponent that is a multiple of three. */
function exponentForm(whole: number): string {
  let exponent = 0;
  let mantissa = whole;
  while (mantissa % 1000 === 0) {
    mantissa /= 1000;
    exponent += 3;
  }
  return exponent === 0 ? String(mantissa) : `${mantissa}e${exponent}`;
}
