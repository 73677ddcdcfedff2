/** The structures of tests for ports: `tcp`, `udp` and `sctp`. Integers are in host order. */
import type { XtMatch } from "./rules.ts";
import { makeStructure, type XtStructure } from "./structure.ts";

/** `struct xt_sctp_info`. */
const Sctp = { destination: 0, source: 4, chunkFlags: 268, flags: 284, invert: 288, bytes: 296 };
const SCTP_DEST_PORTS = 2;
/** `struct xt_tcp` and `struct xt_udp`: source range, destination range, then what else is asked. */
const Ports = { source: 0, destination: 4, rest: 8, bytes: 16 } as const;

/** No port is asked for. */
export function barePorts(protocol: "tcp" | "udp"): XtStructure {
  return makeStructure({ name: protocol, revision: 0, bytes: Ports.bytes }, (view) => {
    view.setUint16(Ports.source + 2, 0xffff, true);
    view.setUint16(Ports.destination + 2, 0xffff, true);
  });
}

/** Of tcp and udp. The older engine has the port in the structure, where nft has an expression for it. */
export function readPorts(protocol: "tcp" | "udp", view: DataView): XtMatch | undefined {
  const first = view.getUint16(Ports.destination, true);
  const last = view.getUint16(Ports.destination + 2, true);
  const isAny = first === 0 && last === 0xffff;
  const isSaid = view.getUint32(Ports.source, true) === 0xffff0000 && (isAny || first === last) &&
    // Of udp the first byte alone inverts; all four are zero where nothing else is asked.
    (protocol === "udp" ? view.getUint8(Ports.rest) : view.getUint32(Ports.rest, true)) === 0;
  return isSaid ? { kind: "ports", protocol, ...(!isAny && { destination: first }) } : undefined;
}

/** Of tcp and udp: whether that one destination port is asked for there, or none, and nothing else. */
export function isPlainPorts(view: DataView, at: number, destination: number | undefined): boolean {
  const range = destination === undefined ? 0xffff0000 : (destination * 0x10001) >>> 0;
  return view.getUint32(at + Ports.source, true) === 0xffff0000 &&
    view.getUint32(at + Ports.destination, true) === range &&
    view.getUint32(at + Ports.rest, true) === 0;
}

/** One port or none. */
export function sctp(destination: number | undefined): XtStructure {
  return makeStructure({ name: "sctp", revision: 0, bytes: Sctp.bytes }, (view) => {
    for (let entry = 0; entry < 4; entry++) view.setUint8(Sctp.chunkFlags + entry * 3, 0xff);
    if (destination === undefined) return;
    view.setUint16(Sctp.destination, destination, true);
    view.setUint16(Sctp.destination + 2, destination, true);
    view.setUint32(Sctp.flags, SCTP_DEST_PORTS, true);
  });
}

/** Undefined for what our language cannot say. */
export function readSctp(view: DataView): XtMatch | undefined {
  const flags = view.getUint32(Sctp.flags, true);
  if (view.getUint32(Sctp.invert, true) !== 0) return undefined;
  if (flags === 0) return { kind: "ports", protocol: "sctp" };
  const destination = view.getUint16(Sctp.destination, true);
  const isOne = flags === SCTP_DEST_PORTS &&
    destination === view.getUint16(Sctp.destination + 2, true);
  return isOne ? { kind: "ports", protocol: "sctp", destination } : undefined;
}
