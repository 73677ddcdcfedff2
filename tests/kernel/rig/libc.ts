/**
 * The few socket calls that the rig's agent needs and Deno does not offer: a socket made in another
 * network namespace, a connected UDP socket that hears ICMP errors, raw sockets, and `poll` over all
 * of them. Calls are synchronous; each answers `-errno` instead of -1, as the kernel itself does.
 */

export const errnos = {
  EINTR: 4,
  EAGAIN: 11,
  ENETUNREACH: 101,
  ECONNRESET: 104,
  ECONNREFUSED: 111,
  EHOSTUNREACH: 113,
  EINPROGRESS: 115,
} as const;

/** `poll` events. */
export const POLLIN = 0x1;
export const POLLOUT = 0x4;
export const POLLERR = 0x8;
export const POLLHUP = 0x10;

export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
const SOCK_NONBLOCK_CLOEXEC = 0x800 | 0x80000;

const AF_INET = 2;
const AF_INET6 = 10;
const CLONE_NEWNET = 0x40000000;
const SOL_SOCKET = 1;

/** An address and port as the kernel tells them. */
export interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

/** What `socket` opens. */
export interface SocketKind {
  readonly type: number;
  readonly protocol: number;
}

/** One library handle with typed, errno-returning calls. */
export type Libc = ReturnType<typeof openLibc>;

/** Opens the C library. The handle lives as long as the process. */
export function openLibc() {
  const { symbols } = Deno.dlopen("libc.so.6", {
    socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
    bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
    listen: { parameters: ["i32", "i32"], result: "i32" },
    accept4: { parameters: ["i32", "buffer", "buffer", "i32"], result: "i32" },
    connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
    send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
    sendto: { parameters: ["i32", "buffer", "usize", "i32", "buffer", "u32"], result: "isize" },
    recvfrom: {
      parameters: ["i32", "buffer", "usize", "i32", "buffer", "buffer"],
      result: "isize",
    },
    setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
    getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
    getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
    poll: { parameters: ["buffer", "u64", "i32"], result: "i32" },
    open: { parameters: ["buffer", "i32"], result: "i32" },
    read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
    close: { parameters: ["i32"], result: "i32" },
    setns: { parameters: ["i32", "i32"], result: "i32" },
    __errno_location: { parameters: [], result: "pointer" },
  });

  // It stays where it is for a thread. The fewer calls stand between a failure and the reading of its
  // number the better: one that fails too would change it.
  const location = symbols.__errno_location();
  if (location === null) throw new Error("Cannot read errno: no location");
  const errno = new Deno.UnsafePointerView(location);
  const checked = (result: number | bigint): number =>
    Number(result) >= 0 ? Number(result) : -errno.getInt32();
  const path = (text: string) => new TextEncoder().encode(`${text}\0`);
  const number32 = (value: number) => new Uint8Array(new Int32Array([value]).buffer);

  return {
    /** A non-blocking socket of the family that `address` belongs to. */
    socket(address: string, kind: SocketKind): number {
      const family = address.includes(":") ? AF_INET6 : AF_INET;
      return checked(symbols.socket(family, kind.type | SOCK_NONBLOCK_CLOEXEC, kind.protocol));
    },
    bind(fd: number, at: SocketAddress): number {
      const bytes = encodeAddress(at);
      return checked(symbols.bind(fd, bytes, bytes.length));
    },
    listen: (fd: number): number => checked(symbols.listen(fd, 1024)),
    accept(fd: number): { readonly fd: number; readonly peer: SocketAddress } {
      const peer = new Uint8Array(28);
      const accepted = checked(
        symbols.accept4(fd, peer, number32(peer.length), SOCK_NONBLOCK_CLOEXEC),
      );
      return {
        fd: accepted,
        peer: accepted < 0 ? { address: "", port: 0 } : decodeAddress(peer),
      };
    },
    connect(fd: number, to: SocketAddress): number {
      const bytes = encodeAddress(to);
      return checked(symbols.connect(fd, bytes, bytes.length));
    },
    /** MSG_NOSIGNAL: a peer that went away is an errno, not a signal. */
    send: (fd: number, bytes: Uint8Array<ArrayBuffer>): number =>
      checked(symbols.send(fd, bytes, BigInt(bytes.length), 0x4000)),
    sendTo(fd: number, bytes: Uint8Array<ArrayBuffer>, to: SocketAddress): number {
      const address = encodeAddress(to);
      return checked(
        symbols.sendto(fd, bytes, BigInt(bytes.length), 0x4000, address, address.length),
      );
    },
    receive(fd: number, into: Uint8Array<ArrayBuffer>): {
      readonly length: number;
      readonly from: SocketAddress;
    } {
      const from = new Uint8Array(28);
      const length = checked(
        symbols.recvfrom(fd, into, BigInt(into.length), 0, from, number32(from.length)),
      );
      const told = length >= 0 && (from[0] === AF_INET || from[0] === AF_INET6);
      return { length, from: told ? decodeAddress(from) : { address: "", port: 0 } };
    },
    /** Whether the socket heard of an error by ICMP; takes the oldest such report. */
    takeIcmpError(fd: number): boolean {
      const MSG_ERRQUEUE = 0x2000;
      const buffer = new Uint8Array(64);
      return checked(symbols.recvfrom(fd, buffer, 64n, MSG_ERRQUEUE, null, null)) >= 0;
    },
    setOption: (fd: number, option: { level: number; name: number; value: number }): number =>
      checked(symbols.setsockopt(fd, option.level, option.name, number32(option.value), 4)),
    /** Takes and clears the pending error of a socket: an errno or 0. */
    takeError(fd: number): number {
      const value = new Int32Array(1);
      symbols.getsockopt(fd, SOL_SOCKET, 4, new Uint8Array(value.buffer), number32(4));
      return value[0];
    },
    localAddress(fd: number): SocketAddress {
      const own = new Uint8Array(28);
      checked(symbols.getsockname(fd, own, number32(own.length)));
      return decodeAddress(own);
    },
    poll: (entries: Uint8Array<ArrayBuffer>, timeoutMs: number): number =>
      checked(symbols.poll(entries, BigInt(entries.length / 8), timeoutMs)),
    openFile: (name: string): number => checked(symbols.open(path(name), 0x80000)),
    read: (fd: number, into: Uint8Array<ArrayBuffer>): number =>
      checked(symbols.read(fd, into, BigInt(into.length))),
    close: (fd: number): number => checked(symbols.close(fd)),
    /** Moves the calling thread into the network namespace behind the descriptor. */
    enterNetwork: (fd: number): number => checked(symbols.setns(fd, CLONE_NEWNET)),
  };
}

/** The options that make ICMP errors visible on a socket at once, and addresses usable at once. */
export function setUsualOptions(libc: Libc, fd: number, address: string): void {
  libc.setOption(fd, { level: SOL_SOCKET, name: 2, value: 1 }); // SO_REUSEADDR
  // Without these a TCP connect over IPv6 notices a reject only when its SYN is repeated, after 1 s.
  if (address.includes(":")) {
    libc.setOption(fd, { level: 41, name: 25, value: 1 }); // IPV6_RECVERR
    libc.setOption(fd, { level: 41, name: 26, value: 1 }); // IPV6_V6ONLY
    libc.setOption(fd, { level: 41, name: 78, value: 1 }); // IPV6_FREEBIND
  } else {
    libc.setOption(fd, { level: 0, name: 11, value: 1 }); // IP_RECVERR
    libc.setOption(fd, { level: 0, name: 15, value: 1 }); // IP_FREEBIND
  }
}

/** sockaddr_in or sockaddr_in6: family in host order, port in network order, address. */
function encodeAddress({ address, port }: SocketAddress): Uint8Array<ArrayBuffer> {
  const octets = addressBytes(address);
  const bytes = new Uint8Array(octets.length === 4 ? 16 : 28);
  bytes[0] = octets.length === 4 ? AF_INET : AF_INET6;
  bytes[2] = port >> 8;
  bytes[3] = port & 0xff;
  bytes.set(octets, octets.length === 4 ? 4 : 8);
  return bytes;
}

function decodeAddress(bytes: Uint8Array): SocketAddress {
  const port = (bytes[2] << 8) | bytes[3];
  if (bytes[0] === AF_INET) return { address: bytes.subarray(4, 8).join("."), port };
  const groups = Array.from(
    { length: 8 },
    (_, i) => ((bytes[8 + 2 * i] << 8) | bytes[9 + 2 * i]).toString(16),
  );
  return { address: canonicalIpv6(groups.join(":")), port };
}

/** 4 or 16 bytes of an address in any of its spellings. */
function addressBytes(address: string): Uint8Array<ArrayBuffer> {
  if (!address.includes(":")) return Uint8Array.from(address.split(".").map(Number));
  const groups = expandedGroups(address);
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function expandedGroups(address: string): number[] {
  const [head, tail] = canonicalIpv6(address).split("::");
  const parse = (part: string | undefined) =>
    part === undefined || part === "" ? [] : part.split(":").map((group) => parseInt(group, 16));
  const left = parse(head);
  const right = parse(tail);
  return [...left, ...Array(8 - left.length - right.length).fill(0), ...right];
}
