/** What the kernel logged since it started, as far as its ring still holds it. */
import { lastErrno, libc } from "../libc.ts";
import { NetlinkError } from "../netlink/errors.ts";

/** SYSLOG_ACTION_READ_ALL, which takes nothing away, and SYSLOG_ACTION_SIZE_BUFFER. */
const Action = { readAll: 3, size: 10 } as const;
/** No kernel's ring is larger than a few of these. */
const MOST_BYTES = 16 << 20;

/** `syslog(2)`: what it wrote, or a negative number. */
export type Syslog = (
  action: number,
  buffer: Uint8Array<ArrayBuffer> | null,
  length: number,
) => number;

const linuxSyslog: Syslog = (action, buffer, length) => libc.klogctl(action, buffer, length);

/** Its lines, oldest first. Needs CAP_SYSLOG, or a kernel that shows it to everybody; throws `NetlinkError`. `syslog` is another one in tests. */
export function readKernelLog(syslog: Syslog = linuxSyslog): readonly string[] {
  const size = Math.min(syslog(Action.size, null, 0), MOST_BYTES);
  const buffer = new Uint8Array(Math.max(size, 0));
  const length = size < 0 ? size : syslog(Action.readAll, buffer, buffer.length);
  if (length < 0) {
    const hint = "run as root or with CAP_SYSLOG";
    throw new NetlinkError({ op: "read the kernel's log", errno: lastErrno(), hint });
  }
  return new TextDecoder().decode(buffer.subarray(0, length)).split("\n")
    .filter((line) => line !== "");
}
