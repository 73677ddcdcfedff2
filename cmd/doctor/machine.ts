/** What doctor looks at, and with what. */
import type { Clock } from "../../lib/base/clock.ts";
import type { RehearsalAnswer, RehearsalRequest } from "../../lib/doctor/rehearsal/messages.ts";
import type { AskPage } from "../../lib/health/ask_page.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type { LoadedModules } from "../../lib/kernel/loaded_modules.ts";
import type { CommandContext } from "../command.ts";

/** This machine, or one in memory. */
export interface DoctorMachine {
  readonly ask: AskPage;
  readonly clock: Clock;
  readonly hostName: string;
  readonly modules: LoadedModules;
  /** Where the record of this node's proxy is; there is none where it is absent. */
  readonly recordFolder?: string;
  /** Closed by the command. The root is empty for this machine's own files. */
  openKernel(context: CommandContext, hostRoot: string): Kernel & AsyncDisposable;
  /** Loads and tries rules where they touch nothing. Throws when the signal aborts. */
  rehearse(request: RehearsalRequest, signal: AbortSignal): Promise<RehearsalAnswer>;
}
