/** What goes wrong on a netlink socket, as one typed error. */
import { describeErrno, Errno } from "../errno.ts";

/** What `NetlinkError` is made of. */
export interface NetlinkErrorOptions {
  /** What was tried, as in "list links": completes the sentence "Cannot …". */
  readonly op: string;
  readonly errno: number;
  /** The kernel's own words (extended acknowledgement), where it said something. */
  readonly kernelMessage?: string;
  /** What the reader can do about it. */
  readonly hint?: string;
}

/** The kernel, or the socket to it, refused. `message` is a whole sentence. */
export class NetlinkError extends Error {
  override readonly name = "NetlinkError";
  readonly op: string;
  readonly errno: number;
  readonly kernelMessage: string | undefined;

  constructor(options: NetlinkErrorOptions) {
    const hint = options.hint ?? hintFor(options.errno);
    super(
      `Cannot ${options.op}: ${causeText(options.errno, options.kernelMessage)}` +
        (hint === undefined ? "" : `; ${hint}`),
    );
    this.op = options.op;
    this.errno = options.errno;
    this.kernelMessage = options.kernelMessage;
  }
}

/** The kernel's words and the error's name in one phrase. */
export function causeText(errno: number, kernelMessage?: string): string {
  return kernelMessage ? `${kernelMessage}: ${describeErrno(errno)}` : describeErrno(errno);
}

function hintFor(errno: number): string | undefined {
  switch (errno) {
    case Errno.EPERM:
    case Errno.EACCES:
      return "run as root or with CAP_NET_ADMIN";
    case Errno.EPROTONOSUPPORT:
    case Errno.EAFNOSUPPORT:
      return "this kernel lacks that netlink family or its module is not loaded";
    default:
      return undefined;
  }
}

/** Whether the error is a `NetlinkError` with this number (see `Errno`). */
export function hasErrno(error: unknown, errno: number): error is NetlinkError {
  return error instanceof NetlinkError && error.errno === errno;
}
