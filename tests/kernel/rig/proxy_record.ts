/** What programs under test note of themselves on this machine, by the namespace they run in. */
import { recordFolder } from "../../../lib/record/record_file.ts";

/** Removes what a proxy in this namespace wrote down; before the namespace goes, since others get its number. */
export async function removeProxyRecord(namespace: string): Promise<void> {
  try {
    const { ino } = await Deno.stat(`/run/netns/${namespace}`);
    for (const kind of ["json", "lock"]) await Deno.remove(proxyRecordPath(ino ?? 0, kind));
  } catch (error) {
    // Most tests run no proxy that writes one.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Where the proxy of a namespace writes. */
function proxyRecordPath(inode: number, kind: string): string {
  return `${recordFolder}/${inode}.${kind}`;
}
