/** The nftables mode: everything that the rest of the program may ask of it. */
import { systemClock } from "../../base/clock.ts";
import type { RuleWriter } from "../writer.ts";
import { NftablesWriter, type NftablesWriterOptions } from "./writer.ts";

export { cleanup, type CleanupReport, findLeftovers } from "./cleanup.ts";
export { tableOf } from "./names.ts";
export { probe } from "./probe.ts";
export { type RenderOptions, renderText } from "./render.ts";

/** What a writer of this mode needs; without a clock it takes the system's. */
export type WriterOptions =
  & Omit<NftablesWriterOptions, "clock">
  & Partial<Pick<NftablesWriterOptions, "clock">>;

/** A writer of one family's table. It touches no other table, and leaves its own when it is disposed. */
export function createWriter(options: WriterOptions): RuleWriter {
  return new NftablesWriter({ clock: systemClock, ...options });
}
