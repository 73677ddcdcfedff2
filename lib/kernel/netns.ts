/**
 * Network namespaces. A namespace belongs to a thread: both functions move the calling thread alone,
 * that is the main thread or one worker. What runs elsewhere stays where it was: asynchronous file
 * operations, nonblocking FFI calls, other workers. A socket stays in the namespace in which it was
 * opened, and a child process starts in that of the thread that spawned it.
 *
 * Both need CAP_SYS_ADMIN, so nothing that the proxy itself needs may depend on them: rehearsals and
 * tests do.
 */
import { describeErrno } from "./errno.ts";
import { cString, lastErrno, libc } from "./libc.ts";

const CLONE_NEWNET = 0x40000000;
const O_RDONLY_CLOEXEC = 0x80000;
const OWN_NAMESPACE = "/proc/thread-self/ns/net";

/**
 * Moves this thread into a new, empty network namespace for good. It has no name, and goes with the
 * last of what is in it: this thread, the threads that it starts, and their sockets.
 */
export function unshareNetworkNamespace(): void {
  if (libc.unshare(CLONE_NEWNET) === 0) return;
  throw namespaceError("make a network namespace", lastErrno());
}

/**
 * Runs the action with this thread in the namespace that the path stands for (`/run/netns/x`,
 * `/proc/123/ns/net`), and moves it back. The action must be synchronous: anything it awaited would
 * go on in the old namespace. For tests: the program stays in the namespace in which it starts.
 */
export function inNetworkNamespace<T>(path: string, action: () => NotPromise<T>): T {
  const home = openNamespace(OWN_NAMESPACE);
  try {
    enter(path);
    try {
      return action();
    } finally {
      setNamespace(home, "its own");
    }
  } finally {
    libc.close(home);
  }
}

/** Refuses asynchronous actions at compile time. */
export type NotPromise<T> = T extends PromiseLike<unknown> ? never : T;

function enter(path: string): void {
  const target = openNamespace(path);
  try {
    setNamespace(target, path);
  } finally {
    libc.close(target);
  }
}

function openNamespace(path: string): number {
  const fd = libc.open(cString(path), O_RDONLY_CLOEXEC, 0);
  if (fd >= 0) return fd;
  throw namespaceError(`open network namespace "${path}"`, lastErrno());
}

function setNamespace(fd: number, name: string): void {
  if (libc.setns(fd, CLONE_NEWNET) === 0) return;
  throw namespaceError(`enter network namespace "${name}"`, lastErrno());
}

function namespaceError(action: string, errno: number): Error {
  return new Error(`Cannot ${action}: ${describeErrno(errno)}; run as root with CAP_SYS_ADMIN`);
}
