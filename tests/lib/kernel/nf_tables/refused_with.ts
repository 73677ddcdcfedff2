import { NfTablesError } from "../../../../lib/kernel/nf_tables/errors.ts";

/** Whether the kernel, or its fake, refused an operation with this error number; -1 is the batch as a whole. */
export function refusedWith(errno: number, operation?: number): (error: unknown) => boolean {
  return (error) =>
    error instanceof NfTablesError &&
    error.failures.some((failure) =>
      failure.errno === errno && (operation === undefined || failure.operation === operation)
    );
}
