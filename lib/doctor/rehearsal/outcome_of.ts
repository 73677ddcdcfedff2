/** What became of a packet that was sent, by what came out of the kernel. */
import type { Protocol } from "../../base/protocol.ts";
import type { SeenPacket } from "../../kernel/packets/read_packet.ts";

/** What became of a connection that was tried. */
export type Outcome =
  | { readonly kind: "forwarded"; readonly to: string; readonly port: number; readonly by: string }
  | { readonly kind: "refused" }
  | { readonly kind: "nothing" };

/** How a packet of ours is known again. */
export interface SentPacket {
  readonly id: number;
  readonly protocol: Protocol;
  readonly sourcePort: number;
}

/** Undefined for what belongs to no packet of ours, or to an earlier one. */
export function outcomeOf(seen: SeenPacket, sent: SentPacket): Outcome | undefined {
  if (seen.protocol !== sent.protocol) return undefined;
  if (seen.kind === "refused") {
    return seen.clientPort === sent.sourcePort ? { kind: "refused" } : undefined;
  }
  if (seen.id !== sent.id) return undefined;
  const { destination, destinationPort, source } = seen;
  return { kind: "forwarded", to: destination, port: destinationPort, by: source };
}
