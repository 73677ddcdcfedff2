/** What this machine's kernel logged, ever since its start: no test's to change. */
import { runCommand } from "./command.ts";

/** Whether a processor was ever held for too long, whoever did that. */
export async function hasLockedUp(): Promise<boolean> {
  return (await runCommand(["dmesg"])).includes("soft lockup");
}
