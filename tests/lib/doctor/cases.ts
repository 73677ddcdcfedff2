/** The cases of every check. */
import type { CheckCases } from "./check_cases.ts";
import { clusterCases } from "./cases/cluster.ts";
import { dry01 } from "./cases/dry01.ts";
import { ipvsCases } from "./cases/ipvs.ts";
import { kernelCases } from "./cases/kernel.ts";
import { nodePortCases } from "./cases/nodeports.ts";
import { softwareCases } from "./cases/software.ts";

export const allCases: readonly CheckCases[] = [
  ...kernelCases,
  ...ipvsCases,
  ...nodePortCases,
  ...softwareCases,
  ...clusterCases,
  dry01,
];
