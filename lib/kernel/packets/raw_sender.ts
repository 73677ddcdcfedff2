/** Sends whole IP packets as this machine's own: they pass what its programs' packets pass. */
import { familyOfBytes } from "../../base/ip.ts";
import { Errno } from "../errno.ts";
import { lastErrno, libc } from "../libc.ts";
import { NetlinkError } from "../netlink/errors.ts";

const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_RAW_CLOEXEC = 3 | 0x80000;
/** With it the packet brings its own header. */
const IPPROTO_RAW = 255;

/** A socket of one family, in the network namespace in which it was opened; `using` closes it. */
export class RawSender implements Disposable {
  readonly #fd: number;

  constructor(family: "IPv4" | "IPv6") {
    const number = family === "IPv4" ? AF_INET : AF_INET6;
    this.#fd = libc.socket(number, SOCK_RAW_CLOEXEC, IPPROTO_RAW);
    if (this.#fd < 0) throw failure("open a raw socket");
  }

  /** False where a rule refused it, which is what a drop or a reject looks like to the sender. */
  send(packet: Uint8Array<ArrayBuffer>, to: Uint8Array): boolean {
    const address = socketAddress(to);
    const size = BigInt(packet.length);
    if (Number(libc.sendto(this.#fd, packet, size, 0, address, address.length)) !== -1) return true;
    const errno = lastErrno();
    if (errno === Errno.EPERM) return false;
    throw failure("send a packet", errno);
  }

  [Symbol.dispose](): void {
    libc.close(this.#fd);
  }
}

/** `struct sockaddr_in` or `sockaddr_in6`, without a port. */
function socketAddress(ip: Uint8Array): Uint8Array<ArrayBuffer> {
  const isIpv4 = familyOfBytes(ip) === "IPv4";
  const bytes = new Uint8Array(isIpv4 ? 16 : 28);
  bytes[0] = isIpv4 ? AF_INET : AF_INET6;
  bytes.set(ip, isIpv4 ? 4 : 8);
  return bytes;
}

function failure(op: string, errno = lastErrno()): NetlinkError {
  return new NetlinkError({ op, errno });
}
