/**
 * Sockets as /proc/net shows them, one line each:
 * ```
 *   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode …
 *    0: 0100007F:2809 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 …
 * ```
 * Addresses are words in host order, ports are plain hexadecimal.
 */
import { formatIp } from "../../base/ip.ts";
import type { KernelFiles } from "../kernel_files.ts";

/** A socket. */
export interface OpenSocket {
  readonly protocol: "tcp" | "udp";
  /** Canonical text; `0.0.0.0` and `::` are all addresses. */
  readonly address: string;
  readonly port: number;
  /** Whom it talks to; port 0: nobody. */
  readonly peer: string;
  readonly peerPort: number;
  /** Waits for whoever comes: TCP in state LISTEN, UDP without a peer. */
  readonly isListening: boolean;
  /** The number by which a process's open files name it. */
  readonly inode: string;
}

const files = ["tcp", "tcp6", "udp", "udp6"] as const;
const LISTEN = "0A";
const TIME_WAIT = "06";

/** All sockets of the network namespace, but for those of connections that have ended. Throws `SyntaxError` for garbage. */
export function readOpenSockets(kernelFiles: KernelFiles): readonly OpenSocket[] {
  return files.flatMap((name) => {
    const lines = kernelFiles.readNet(name)?.split("\n").slice(1) ?? [];
    return lines.flatMap((line) => readSocket(line, name) ?? []);
  });
}

function readSocket(line: string, file: typeof files[number]): OpenSocket | undefined {
  const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
  const here = readPlace(local ?? "");
  const there = readPlace(remote ?? "");
  if (!here || !there || inode === undefined) {
    throw new SyntaxError(
      `Cannot read /proc/net/${file}: "${line.trim().slice(0, 60)}" is not understood`,
    );
  }
  if (state === TIME_WAIT) return undefined;
  const protocol = file.startsWith("tcp") ? "tcp" as const : "udp" as const;
  return {
    protocol,
    ...here,
    peer: there.address,
    peerPort: there.port,
    isListening: protocol === "tcp" ? state === LISTEN : there.port === 0,
    inode,
  };
}

function readPlace(text: string): { readonly address: string; readonly port: number } | undefined {
  const [, words, port] = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(text) ?? [];
  if (words === undefined) return undefined;
  const bytes = Uint8Array.fromHex(words);
  for (let at = 0; at < bytes.length; at += 4) bytes.subarray(at, at + 4).reverse();
  return { address: canonical(bytes), port: parseInt(port, 16) };
}

/** What comes by IPv4 to a socket of IPv6 is an address of IPv4. */
function canonical(bytes: Uint8Array): string {
  const isMapped = bytes.length === 16 && bytes.subarray(0, 10).every((byte) => byte === 0) &&
    bytes[10] === 0xff && bytes[11] === 0xff;
  return formatIp(isMapped ? bytes.subarray(12) : bytes);
}
