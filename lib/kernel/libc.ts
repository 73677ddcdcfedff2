/**
 * The C library by FFI: the one place that opens it. Calls are synchronous, since `errno` belongs to
 * the calling thread and a `nonblocking` call runs on another one; the callers of the few nonblocking
 * symbols here do not ask why they failed.
 */
import { Errno } from "./errno.ts";

const library = Deno.dlopen(
  "libc.so.6",
  {
    __errno_location: { parameters: [], result: "pointer" },
    bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
    flock: { parameters: ["i32", "i32"], result: "i32" },
    getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
    getsockoptLater: {
      name: "getsockopt",
      parameters: ["i32", "i32", "i32", "buffer", "buffer"],
      result: "i32",
      nonblocking: true,
    },
    getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
    ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
    klogctl: { parameters: ["i32", "buffer", "i32"], result: "i32" },
    malloc_trim: { parameters: ["usize"], result: "i32" },
    mallopt: { parameters: ["i32", "i32"], result: "i32" },
    open: { parameters: ["buffer", "i32", "u32"], result: "i32" },
    poll: { parameters: ["buffer", "usize", "i32"], result: "i32" },
    pollLater: {
      name: "poll",
      parameters: ["buffer", "usize", "i32"],
      result: "i32",
      nonblocking: true,
    },
    read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
    recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
    sendLater: {
      name: "send",
      parameters: ["i32", "buffer", "usize", "i32"],
      result: "isize",
      nonblocking: true,
    },
    sendto: {
      parameters: ["i32", "buffer", "usize", "i32", "buffer", "u32"],
      result: "isize",
    },
    setns: { parameters: ["i32", "i32"], result: "i32" },
    setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
    socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
    // All arguments of a system call are machine words.
    syscall: { parameters: ["i64", "buffer", "u64"], result: "i64" },
    unshare: { parameters: ["i32"], result: "i32" },
    write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  } as const,
);

/** The C functions this program calls, under their own names. A copy, since some of the library's cannot be replaced by tests. */
export const libc = { ...library.symbols };

/** The error number of this thread's last failed call; ask at once after it. */
export function lastErrno(): number {
  const location = libc.__errno_location();
  // V8 may have cleared it by a call of its own; a failure must never read as success.
  if (location === null) return Errno.EIO;
  return new Deno.UnsafePointerView(location).getInt32() || Errno.EIO;
}

/** A zero-terminated string for a `buffer` parameter. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
