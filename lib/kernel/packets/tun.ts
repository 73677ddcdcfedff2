/**
 * A tun device: a packet that is written to it arrives as if by a cable, and one that leaves by it can
 * be read. It is there while it is open, in the network namespace in which it was opened.
 */
import { Errno } from "../errno.ts";
import { cString, lastErrno, libc } from "../libc.ts";
import { NetlinkError } from "../netlink/errors.ts";

const DEVICE = "/dev/net/tun";
const O_RDWR_NONBLOCK_CLOEXEC = 0x2 | 0x800 | 0x80000;
/** `_IOW('T', 202, int)` */
const TUNSETIFF = 0x400454ca;
const IFF_TUN_NO_PI = 0x1 | 0x1000;
/** `struct ifreq`: a name of 16 bytes, then flags. */
const IFREQ_BYTES = 40;
const MOST_BYTES = 65_536;

/** An open device; `using` takes it away. */
export class Tun implements Disposable {
  readonly name: string;
  readonly #fd: number;
  readonly #buffer = new Uint8Array(MOST_BYTES);
  #open = true;

  /** Throws `NetlinkError`, for instance with ENOENT where this machine, or this container, has no tun. */
  constructor(name: string) {
    this.name = name;
    this.#fd = libc.open(cString(DEVICE), O_RDWR_NONBLOCK_CLOEXEC, 0);
    if (this.#fd < 0) throw failure(`open "${DEVICE}"`);
    const request = new Uint8Array(IFREQ_BYTES);
    request.set(new TextEncoder().encode(name).subarray(0, 15));
    new DataView(request.buffer).setUint16(16, IFF_TUN_NO_PI, true);
    if (libc.ioctl(this.#fd, BigInt(TUNSETIFF), request) === 0) return;
    const error = failure(`make tun device "${name}"`);
    this[Symbol.dispose]();
    throw error;
  }

  /** An IP packet arrives by the device; what the kernel does at once with it is done when this returns. */
  write(packet: Uint8Array<ArrayBuffer>): void {
    if (Number(libc.write(this.#fd, packet, BigInt(packet.length))) >= 0) return;
    throw failure(`write to tun device "${this.name}"`);
  }

  /** The next packet that left by the device, or undefined; a view that the next call overwrites. */
  read(): Uint8Array | undefined {
    const size = Number(libc.read(this.#fd, this.#buffer, BigInt(MOST_BYTES)));
    if (size >= 0) return this.#buffer.subarray(0, size);
    const errno = lastErrno();
    if (errno === Errno.EAGAIN) return undefined;
    throw failure(`read from tun device "${this.name}"`, errno);
  }

  [Symbol.dispose](): void {
    if (this.#open) libc.close(this.#fd);
    this.#open = false;
  }
}

function failure(op: string, errno = lastErrno()): NetlinkError {
  return new NetlinkError({ op, errno });
}
