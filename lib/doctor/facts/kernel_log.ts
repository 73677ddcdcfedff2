/** The kernel's own log. */
import { readKernelLog } from "../../kernel/inspection/kernel_log.ts";
import type { FactReader } from "../fact.ts";
import { known } from "./known.ts";

/** Reads it; `read` is another log in tests. */
export function kernelLogReader(
  read: () => readonly string[] = readKernelLog,
): FactReader<readonly string[]> {
  return { read: () => known(read()) };
}
