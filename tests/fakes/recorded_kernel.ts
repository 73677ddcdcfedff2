/**
 * What was said on netlink sockets, word by word, and a kernel that says it again. It stands below
 * everything of ours, at the C library, so that all the code above runs as it does on a kernel.
 */
import assert from "node:assert/strict";
import { lastErrno, libc } from "../../lib/kernel/libc.ts";

/**
 * `>` is what we sent, `<` what the kernel answered, `!` the error number of a receive, `=` what a file of
 * /proc said; in order.
 */
export type Talk = readonly string[];

/** What sockets need of it. */
export type LibcFunctions = Pick<
  typeof libc,
  | "__errno_location"
  | "bind"
  | "close"
  | "getsockopt"
  | "getsockoptLater"
  | "ioctl"
  | "malloc_trim"
  | "mallopt"
  | "open"
  | "read"
  | "recv"
  | "sendLater"
  | "sendto"
  | "setns"
  | "setsockopt"
  | "socket"
  | "syscall"
  | "unshare"
  | "write"
>;

type ReadFile = () => string | undefined;

let speakFile: (read: ReadFile) => string | undefined = (read) => read();

/** Reads a file whose text is a part of the talk: from the kernel, or from what was recorded. */
export function spokenFile(read: ReadFile): string | undefined {
  return speakFile(read);
}

/** Runs the action while files are read otherwise. */
async function speakingFiles<T>(speak: typeof speakFile, action: () => Promise<T>): Promise<T> {
  const before = speakFile;
  speakFile = speak;
  try {
    return await action();
  } finally {
    speakFile = before;
  }
}

/** Runs the action on the real kernel and gives back what was said. */
export async function recordTalk<T>(action: () => Promise<T>): Promise<{ result: T; talk: Talk }> {
  const talk: string[] = [];
  const { recv, sendto } = libc;
  return await replacingLibc({
    sendto(socket, bytes, ...rest) {
      const sent = sendto(socket, bytes, ...rest);
      talk.push(Number(sent) < 0 ? `?${lastErrno()}` : `>${hexOf(bytes)}`);
      return sent;
    },
    recv(socket, buffer, ...rest) {
      const size = recv(socket, buffer, ...rest);
      talk.push(Number(size) < 0 ? `!${lastErrno()}` : `<${hexOf(buffer, Number(size))}`);
      return size;
    },
  }, async () => {
    const hear = (read: ReadFile) => {
      const text = read();
      talk.push(text === undefined ? "!file" : `=${hexOf(new TextEncoder().encode(text))}`);
      return text;
    };
    return { result: await speakingFiles(hear, action), talk };
  });
}

/**
 * Runs the action on a kernel that answers as it did. Whoever says something else than what was
 * recorded, or leaves something unsaid, fails.
 */
export async function replayTalk<T>(talk: Talk, action: () => Promise<T>): Promise<T> {
  const errno = new Int32Array(1);
  let next = 0;
  const fail = (number: number) => {
    errno[0] = number;
    return -1n;
  };
  const result = await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => 1_000_000,
    bind: () => 0,
    setsockopt: () => 0,
    getsockopt: () => 0,
    close: () => 0,
    sendto(_socket, bytes) {
      const expected = talk[next++] ?? "nothing";
      if (expected.startsWith("?")) return fail(Number(expected.slice(1)));
      assert.equal(`>${hexOf(bytes)}`, expected, `word ${next} of ${talk.length} is another`);
      return BigInt(lengthOf(bytes));
    },
    recv(_socket, buffer) {
      const answer = talk[next++] ?? "nothing";
      if (answer.startsWith("!")) return fail(Number(answer.slice(1)));
      assert.match(answer, /^</, `word ${next} of ${talk.length} is no answer`);
      const bytes = Uint8Array.fromHex(answer.slice(1));
      (buffer as Uint8Array).set(bytes);
      return BigInt(bytes.length);
    },
  }, () => speakingFiles(() => fileOf(talk[next++] ?? "nothing"), action));
  assert.equal(next, talk.length, "something was left unsaid");
  return result;
}

/** Runs the action while functions of the C library are others. */
export async function replacingLibc<T>(
  functions: Partial<LibcFunctions>,
  action: () => T | Promise<T>,
): Promise<T> {
  const names = Object.keys(functions) as (keyof LibcFunctions)[];
  const real = Object.fromEntries(names.map((name) => [name, libc[name]]));
  Object.assign(libc, functions);
  try {
    return await action();
  } finally {
    Object.assign(libc, real);
  }
}

function fileOf(word: string): string | undefined {
  if (word === "!file") return undefined;
  assert.match(word, /^=/, "a file is read where something else was said");
  return new TextDecoder().decode(Uint8Array.fromHex(word.slice(1)));
}

function hexOf(bytes: BufferSource | null, length = lengthOf(bytes)): string {
  return (bytes as Uint8Array).subarray(0, length).toHex();
}

function lengthOf(bytes: BufferSource | null): number {
  return bytes?.byteLength ?? 0;
}
