/** A new configuration takes effect by a restart: the process ends, and what started it starts it again. */
import { describeError } from "../../lib/base/errors.ts";
import { type ReadFile, untilRewritten } from "../../lib/base/files_watch.ts";
import type { Logger } from "../../lib/base/log.ts";

/** Throws when the file has got another content, as upstream; returns with the signal. */
export async function endWhenRewritten(
  file: ReadFile,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await untilRewritten(file, signal);
  } catch (error) {
    // A pipe, or no watches left: the configuration is in force all the same.
    const reason = describeError(error);
    return logger.warning(
      "Cannot watch the config file: a change of it takes effect at the next start",
      {
        file: file.path,
        reason,
      },
    );
  }
  if (signal.aborted) return;
  throw new Error(
    `Content of the config file "${file.path}" was updated; ending to be started anew with it`,
  );
}
