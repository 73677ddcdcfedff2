/** Go's zero time, which stands for "never" in upstream's answers. */
const never = "0001-01-01T00:00:00Z";

/** The time as Go prints it in JSON: local zone, trailing zeros of the fraction left out. 0 is never. */
export function formatTime(milliseconds: number): string {
  if (milliseconds === 0) return never;
  const offsetMinutes = -new Date(milliseconds).getTimezoneOffset();
  const local = new Date(milliseconds + offsetMinutes * 60_000).toISOString();
  const seconds = local.slice(0, 19);
  const fraction = local.slice(20, 23).replace(/0+$/, "");
  return seconds + (fraction && `.${fraction}`) + formatOffset(offsetMinutes);
}

function formatOffset(minutes: number): string {
  if (minutes === 0) return "Z";
  const two = (value: number) => String(value).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
