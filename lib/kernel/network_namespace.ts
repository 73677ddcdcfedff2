/** Which network namespace this thread is in, told so that a note of it can be found again. */
import { lastErrno, libc } from "./libc.ts";
import { Errno } from "./errno.ts";
import { NetlinkError } from "./netlink/errors.ts";

/** One network namespace of this machine, as long as it runs. */
export interface NetworkNamespace {
  /** As `/proc/PID/ns/net` shows it; given to another namespace once this one is gone. */
  readonly inode: number;
  /** Given to no other one; kernels before 5.14 do not tell it. */
  readonly cookie?: string;
}

const AF_INET_DATAGRAM = [2, 2 | 0x80000] as const;
const SOL_SOCKET = 1;
const SO_NETNS_COOKIE = 71;

/** That of the calling thread. Throws where /proc or the kernel does not tell. */
export function networkNamespace(): NetworkNamespace {
  const link = Deno.readLinkSync("/proc/thread-self/ns/net");
  const inode = Number(/^net:\[(\d+)\]$/.exec(link)?.[1]);
  if (!Number.isSafeInteger(inode)) {
    throw new RangeError(`Cannot tell the network namespace: "${link}" names none`);
  }
  const cookie = readCookie();
  return { inode, ...(cookie === undefined ? {} : { cookie }) };
}

function readCookie(): string | undefined {
  const [family, type] = AF_INET_DATAGRAM;
  const fd = libc.socket(family, type, 0);
  const op = "read the cookie of the network namespace";
  if (fd < 0) throw new NetlinkError({ op, errno: lastErrno() });
  try {
    const answer = new BigUint64Array(1);
    const length = new Uint8Array(new Uint32Array([answer.byteLength]).buffer);
    const bytes = new Uint8Array(answer.buffer);
    if (libc.getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, bytes, length) === 0) {
      return String(answer[0]);
    }
    const errno = lastErrno();
    if (errno === Errno.ENOPROTOOPT) return undefined;
    throw new NetlinkError({ op, errno });
  } finally {
    libc.close(fd);
  }
}
