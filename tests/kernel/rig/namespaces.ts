/** Named network namespaces with an owner, so that those of a killed run can be told from others. */
import { runCommand, tryCommand } from "./command.ts";
import { removeProxyRecord } from "./proxy_record.ts";

const NAME = /^kpt-(\d+)-[0-9a-f]+-/;

/** A prefix for names that no other run and no other cluster of this run uses. */
export function ownedPrefix(): string {
  return `kpt-${Deno.pid}-${crypto.randomUUID().slice(0, 4)}-`;
}

export async function createNamespaces(names: readonly string[]): Promise<void> {
  for (const name of names) await runCommand(["ip", "netns", "add", name]);
}

/** Ends what still runs inside, then removes the namespaces; those that are not there are fine. */
export async function removeNamespaces(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const pids = await tryCommand(["ip", "netns", "pids", name]);
    if (pids.code === 0) pids.stdout.split("\n").filter((pid) => pid !== "").forEach(kill);
    await removeProxyRecord(name);
    await tryCommand(["ip", "netns", "delete", name]);
  }
}

/** Removes the namespaces whose owner is gone. */
export async function removeStale(): Promise<void> {
  await removeNamespaces(
    listNames().filter((name) => {
      const owner = NAME.exec(name)?.[1];
      return owner !== undefined && !isRunning(owner);
    }),
  );
}

function listNames(): string[] {
  try {
    return [...Deno.readDirSync("/run/netns")].map((entry) => entry.name).toSorted();
  } catch (error) {
    // The folder appears with the machine's first namespace.
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function isRunning(pid: string): boolean {
  try {
    Deno.statSync(`/proc/${pid}`);
    return true;
  } catch {
    return false;
  }
}

function kill(pid: string): void {
  try {
    Deno.kill(Number(pid), "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}
