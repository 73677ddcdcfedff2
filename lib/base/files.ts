/** Ordinary files: everything the program reads or writes on disk passes here. */

/** Why a file could not be read or written, as one sentence; `cause` holds the system's error. */
export class FileError extends Error {
  readonly path: string;

  constructor(message: string, options: { readonly path: string; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = "FileError";
    this.path = options.path;
  }
}

export interface ReadOptions {
  /** A larger file is refused before it is read as a whole. */
  readonly maxBytes: number;
}

/** The whole content; `-` is standard input. Throws a FileError when it cannot be had or is too large. */
export async function readFile(path: string, options: ReadOptions): Promise<Uint8Array> {
  try {
    if (path === "-") return await readStream(Deno.stdin.readable, options);
    using file = await Deno.open(path, { read: true });
    const { isDirectory, size } = await file.stat();
    if (isDirectory) throw new FileError(`Cannot read "${path}": it is a directory`, { path });
    return await readOpened(file, { path, expected: size, maxBytes: options.maxBytes });
  } catch (error) {
    if (error instanceof FileError) throw error;
    const target = error instanceof Deno.errors.NotFound ? await linkedPath(path) : undefined;
    const cause = target === undefined
      ? fileCause(error)
      : `it is a link to "${target}", which is not there`;
    throw new FileError(`Cannot read "${path}": ${cause}`, { path, cause: error });
  }
}

async function linkedPath(path: string): Promise<string | undefined> {
  try {
    return await Deno.readLink(path);
  } catch {
    // It is no link, or gone.
    return undefined;
  }
}

/** The whole of standard input, or of a stream in its place; throws as `readFile` does. */
export async function readStream(
  stream: ReadableStream<Uint8Array>,
  options: ReadOptions,
): Promise<Uint8Array> {
  try {
    return await readAtMost(stream, "standard input", options.maxBytes);
  } catch (error) {
    if (error instanceof FileError) throw error;
    const path = "-";
    throw new FileError(`Cannot read standard input: ${fileCause(error)}`, { path, cause: error });
  }
}

/** Whether the path is a directory; false when there is nothing. */
export async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw new FileError(`Cannot read "${path}": ${fileCause(error)}`, { path, cause: error });
  }
}

/** Whether the path is a regular file, or a link to one; false where it cannot be looked at. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    // Whoever asks has other places to look at; reading tells why one cannot be read.
    return false;
  }
}

/**
 * Paths of the regular files of a directory (links to such too), sorted, without hidden ones. A link
 * that leads nowhere is among them: whoever reads it is told that, and has the other files.
 */
export async function listFiles(directory: string): Promise<string[]> {
  try {
    const paths: string[] = [];
    for await (const entry of Deno.readDir(directory)) {
      if (entry.name.startsWith(".")) continue;
      const path = `${directory.replace(/\/+$/, "")}/${entry.name}`;
      // The files of a ConfigMap volume are links into a hidden directory.
      if (entry.isFile || entry.isSymlink && await mayBeFile(path)) paths.push(path);
    }
    return paths.sort();
  } catch (error) {
    throw new FileError(`Cannot read directory "${directory}": ${fileCause(error)}`, {
      path: directory,
      cause: error,
    });
  }
}

async function mayBeFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    // Reading it tells why it cannot be had.
    return true;
  }
}

/** Creates the directory and its parents; content with one that exists. */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    throw new FileError(`Cannot create directory "${path}": ${fileCause(error)}`, {
      path,
      cause: error,
    });
  }
}

/**
 * Replaces or creates the file in one step: a reader sees the old content or the new one, never a
 * part. A failure leaves the old file and nothing beside it.
 */
export async function writeFileAtomically(path: string, content: string): Promise<void> {
  const target = await linkTarget(path);
  const beside = `${target}.${crypto.randomUUID()}.part`;
  try {
    // A device such as /dev/null, or a pipe, must not be replaced by a file.
    if (await isSpecial(target)) return await Deno.writeTextFile(target, content);
    const mode = await modeOf(target);
    await Deno.writeTextFile(beside, content, {
      createNew: true,
      ...(mode === undefined ? {} : { mode }),
    });
    await Deno.rename(beside, target);
  } catch (error) {
    await Deno.remove(beside).catch(() => {
      // It may never have been created; the first error is the one that tells.
    });
    throw new FileError(`Cannot write "${path}": ${fileCause(error)}`, { path, cause: error });
  }
}

/** The same at once, for a small file that has to be there before the next step; makes its folder. */
export function writeFileAtomicallySync(path: string, content: string): void {
  const beside = `${path}.${crypto.randomUUID()}.part`;
  try {
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")) || ".", { recursive: true });
    Deno.writeTextFileSync(beside, content, { createNew: true, mode: 0o600 });
    Deno.renameSync(beside, path);
  } catch (error) {
    try {
      Deno.removeSync(beside);
    } catch {
      // It may never have been created; the first error is the one that tells.
    }
    throw new FileError(`Cannot write "${path}": ${fileCause(error)}`, { path, cause: error });
  }
}

/** Removes the file; one that is not there is fine. */
export async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw new FileError(`Cannot remove "${path}": ${fileCause(error)}`, { path, cause: error });
  }
}

interface OpenedFile {
  readonly path: string;
  /** The size that the system tells: 0 of a pipe, and wrong once somebody writes. */
  readonly expected: number;
  readonly maxBytes: number;
}

/** One buffer as large as the file, so that a large file is in memory once. */
async function readOpened(
  file: Deno.FsFile,
  { path, expected, maxBytes }: OpenedFile,
): Promise<Uint8Array> {
  // One byte more than expected, so that the end is met without growing.
  let buffer = new Uint8Array(Math.min(expected, maxBytes) + 1);
  let size = 0;
  for (;;) {
    const count = await file.read(buffer.subarray(size));
    if (count === null) return buffer.subarray(0, size);
    size += count;
    if (size > maxBytes) throw tooLarge(`"${path}"`, maxBytes);
    if (size < buffer.length) continue;
    const larger = new Uint8Array(Math.max(2 * size, smallestBuffer));
    larger.set(buffer);
    buffer = larger;
  }
}

const smallestBuffer = 65_536;

async function readAtMost(
  stream: ReadableStream<Uint8Array>,
  subject: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(subject, maxBytes);
    chunks.push(chunk);
  }
  const content = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    content.set(chunk, offset);
    offset += chunk.length;
  }
  return content;
}

function tooLarge(subject: string, maxBytes: number): FileError {
  return new FileError(`Cannot read ${subject}: it is larger than ${maxBytes} bytes`, {
    path: subject,
  });
}

/** A link keeps being one: what it points to is replaced. */
async function linkTarget(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch {
    // There is nothing yet, or the write below says why it cannot be reached.
    return path;
  }
}

async function isSpecial(path: string): Promise<boolean> {
  try {
    const { isFile, isDirectory } = await Deno.stat(path);
    return !isFile && !isDirectory;
  } catch {
    // There is nothing yet, or the write says why it cannot be reached.
    return false;
  }
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await Deno.stat(path)).mode ?? undefined;
  } catch {
    // A new file gets the mode that the umask leaves.
    return undefined;
  }
}

function fileCause(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "no such file or directory";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.NotADirectory) return "a part of its path is not a directory";
  if (error instanceof Deno.errors.BadResource) return "it is closed";
  // Deno appends the system call in parentheses.
  return error instanceof Error ? error.message.replace(/: [a-z]+ '.*'$/, "") : String(error);
}
