/** Every check there is, in the order of the report. */
import type { Check } from "./check.ts";
import { rehearse } from "./checks/dry01_rehearse.ts";

export const checks: readonly Check[] = [
  rehearse,
];
