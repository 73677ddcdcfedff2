/** The nftables mode: everything that the rest of the program may ask of it. */
import { systemClock } from "../../base/clock.ts";
import type { ModeRuntime, RuleWriter } from "../writer.ts";
import { findLeftovers } from "./cleanup.ts";
import type { NftablesSettings } from "./config.ts";
import { registerMetrics } from "./metrics.ts";
import { OwnCommits } from "./own_commits.ts";
import { probe } from "./probe.ts";
import { renderText } from "./render.ts";
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

/** The mode with its settings, as the registry hands it out. */
export function createRuntime({ masqueradeBit }: NftablesSettings): ModeRuntime {
  const ownCommits = new OwnCommits();
  return {
    probe: async (kernel, family) => await probe(await kernel.nftables(), family),
    createWriter: async ({ family, kernel, logger }) =>
      createWriter({
        family,
        nftables: await kernel.nftables(),
        masqueradeBit,
        logger,
        ownCommits,
      }),
    renderText: (snapshot) => renderText(snapshot, { masqueradeBit }),
    findLeftovers: async (kernel) =>
      (await findLeftovers(await kernel.nftables())).map(({ family, name }) =>
        `table ${family} ${name}`
      ),
    registerMetrics,
  };
}
