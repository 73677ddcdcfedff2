/** Error numbers of Linux that this program meets, by the kernel's names (x86_64 and arm64 agree on them). */
export const Errno = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  EINTR: 4,
  EIO: 5,
  EBADF: 9,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EFAULT: 14,
  EBUSY: 16,
  EEXIST: 17,
  ENODEV: 19,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  EMFILE: 24,
  ENOSPC: 28,
  EROFS: 30,
  EPIPE: 32,
  ERANGE: 34,
  ENAMETOOLONG: 36,
  ENOSYS: 38,
  ELOOP: 40,
  ENOMSG: 42,
  ENODATA: 61,
  EPROTO: 71,
  EBADMSG: 74,
  EOVERFLOW: 75,
  ERESTART: 85,
  EMSGSIZE: 90,
  ENOPROTOOPT: 92,
  EPROTONOSUPPORT: 93,
  EOPNOTSUPP: 95,
  EAFNOSUPPORT: 97,
  EADDRINUSE: 98,
  EADDRNOTAVAIL: 99,
  ENETDOWN: 100,
  ENETUNREACH: 101,
  ECONNRESET: 104,
  ENOBUFS: 105,
  ETIMEDOUT: 110,
  ECONNREFUSED: 111,
  EHOSTUNREACH: 113,
} as const;

const words: ReadonlyMap<number, string> = new Map([
  [Errno.EPERM, "operation not permitted"],
  [Errno.ENOENT, "no such object"],
  [Errno.ESRCH, "no such object"],
  [Errno.EINTR, "interrupted"],
  [Errno.EAGAIN, "no answer in time"],
  [Errno.ENOMEM, "out of memory"],
  [Errno.EACCES, "permission denied"],
  [Errno.EBUSY, "object is in use"],
  [Errno.EEXIST, "object exists already"],
  [Errno.ENODEV, "no such device"],
  [Errno.EINVAL, "invalid argument"],
  [Errno.ENOSPC, "no space left"],
  [Errno.EROFS, "read-only file system"],
  [Errno.ERANGE, "out of range"],
  [Errno.ENAMETOOLONG, "name too long"],
  [Errno.ELOOP, "too many levels of jumps"],
  [Errno.ERESTART, "changed by somebody else meanwhile"],
  [Errno.EMSGSIZE, "message too long for the socket"],
  [Errno.EPROTONOSUPPORT, "protocol not supported"],
  [Errno.EOPNOTSUPP, "operation not supported"],
  [Errno.EAFNOSUPPORT, "address family not supported"],
  [Errno.ENOBUFS, "no buffer space"],
  [Errno.EMFILE, "too many open files"],
]);

const names: ReadonlyMap<number, string> = new Map(
  Object.entries(Errno).map(([name, number]) => [number, name]),
);

/** `ENOENT`, or `errno 123` for a number without a name here. */
function errnoName(errno: number): string {
  return names.get(errno) ?? `errno ${errno}`;
}

/** `no such object (ENOENT)`: words for people, with the name to search for. */
export function describeErrno(errno: number): string {
  const text = words.get(errno);
  return text === undefined ? errnoName(errno) : `${text} (${errnoName(errno)})`;
}
