/**
 * Asks a page of this machine, such as that of a proxy that may run here. A socket and the oldest HTTP, so
 * that no proxy of the environment (HTTP_PROXY) is asked in its place, and no answer is followed elsewhere.
 */
import { linkAbort } from "../base/abort.ts";
import { joinHostPort } from "../base/ip.ts";
import type { ListenAddress } from "./listener.ts";

/** What came of it: nobody listens there; somebody does and says nothing useful in time; an answer. */
export type PageAnswer =
  | { readonly kind: "nobody" }
  | { readonly kind: "silent" }
  | { readonly kind: "page"; readonly status: number; readonly body: string };

/** Where a page is, and how long its server may take. */
export interface PageQuestion {
  readonly address: ListenAddress;
  readonly path: string;
  readonly timeoutMs: number;
}

/** Asks a page, or says that nobody serves it. */
export type AskPage = (question: PageQuestion, signal: AbortSignal) => Promise<PageAnswer>;

/** Pages that tell something about a proxy are small; of a larger one the beginning is enough. */
const MAX_BYTES = 65_536;

/** Asks it with `GET`. Throws only when the signal aborts. */
export const askPage: AskPage = async ({ address, path, timeoutMs }, signal) => {
  signal.throwIfAborted();
  using limit = linkAbort(signal, { afterMs: timeoutMs });
  const answer = await ask(address, path, limit.signal);
  signal.throwIfAborted();
  return answer;
};

async function ask(
  { hostname, port }: ListenAddress,
  path: string,
  signal: AbortSignal,
): Promise<PageAnswer> {
  let connection: Deno.TcpConn;
  try {
    connection = await Deno.connect({ hostname, port, signal });
  } catch {
    // A host that drops what comes to its own address answers nobody: something is there, or nothing.
    return { kind: signal.aborted ? "silent" : "nobody" };
  }
  // Whoever reads or writes hears of it at once.
  const close = () => connection.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    const host = joinHostPort(hostname, port);
    const request = `GET ${path} HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    await writeAll(connection, new TextEncoder().encode(request));
    return parseAnswer(await readToEnd(connection));
  } catch {
    // It was closed in the middle, by its server or by the time limit.
    return { kind: "silent" };
  } finally {
    signal.removeEventListener("abort", close);
    if (!signal.aborted) close();
  }
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await connection.write(bytes.subarray(written));
  }
}

async function readToEnd(connection: Deno.TcpConn): Promise<string> {
  const buffer = new Uint8Array(MAX_BYTES);
  let size = 0;
  while (size < MAX_BYTES) {
    const count = await connection.read(buffer.subarray(size));
    if (count === null) break;
    size += count;
  }
  return new TextDecoder().decode(buffer.subarray(0, size));
}

/** `HTTP/1.0 200 OK`, headers, an empty line, and the page. */
function parseAnswer(text: string): PageAnswer {
  const [, status] = /^HTTP\/1\.\d (\d{3})\b/.exec(text) ?? [];
  const at = text.indexOf("\r\n\r\n");
  if (status === undefined || at < 0) return { kind: "silent" };
  return { kind: "page", status: Number(status), body: text.slice(at + 4) };
}
