/** The cases of every check, a line each. */
import type { CheckCases } from "./check_cases.ts";
import { dry01 } from "./cases/dry01.ts";

export const allCases: readonly CheckCases[] = [
  dry01,
];
