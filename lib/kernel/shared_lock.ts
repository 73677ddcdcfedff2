/**
 * Locks on files that many processes may hold at once. The kernel lets go of them when a process dies,
 * however it dies, and whoever sees the file sees them: also from another container.
 */
import { describeErrno, Errno } from "./errno.ts";
import { cString, lastErrno, libc } from "./libc.ts";

const O_RDONLY_CLOEXEC = 0x80000;
const O_CREAT = 0o100;
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;
const OWNER_ONLY = 0o600;

/** Holds the file's lock until it is disposed, together with others; makes the file. Throws where that cannot be. */
export function holdSharedLock(path: string): Disposable {
  const fd = libc.open(cString(path), O_RDONLY_CLOEXEC | O_CREAT, OWNER_ONLY);
  if (fd < 0) throw lockError(path, lastErrno());
  if (libc.flock(fd, LOCK_SH | LOCK_NB) !== 0) {
    const errno = lastErrno();
    libc.close(fd);
    throw lockError(path, errno);
  }
  return { [Symbol.dispose]: () => void libc.close(fd) };
}

/** Whether any process holds it; nobody does where there is no such file. Throws where that cannot be told. */
export function isLockHeld(path: string): boolean {
  const fd = libc.open(cString(path), O_RDONLY_CLOEXEC, 0);
  if (fd < 0) {
    const errno = lastErrno();
    if (errno === Errno.ENOENT) return false;
    throw lockError(path, errno);
  }
  try {
    if (libc.flock(fd, LOCK_EX | LOCK_NB) === 0) return false;
    const errno = lastErrno();
    if (errno === Errno.EAGAIN) return true;
    throw lockError(path, errno);
  } finally {
    libc.close(fd);
  }
}

function lockError(path: string, errno: number): Error {
  return new Error(`Cannot lock "${path}": ${describeErrno(errno)}`);
}
