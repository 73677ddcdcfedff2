/** What `scripts/mutants` was asked for. */
import { parseArgs } from "node:util";
import type { Mutant } from "./mutate.ts";

/** Which mutants, and how good the tests must be. */
export interface Wanted {
  /** Folders, with their slash, files, or lines of files. */
  readonly rooms: readonly string[];
  readonly seed: number;
  readonly count: number;
  /** The least share in a hundred that must be killed. */
  readonly floor: number;
  readonly jobs: number;
  /** Unit tests at most two imports away or of the same room, all, or those that need root as well. */
  readonly tests: "near" | "unit" | "all";
}

/** Reads the command line; what is wrong with it is an error. */
export function readWanted(args: readonly string[]): Wanted {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: "string" },
      count: { type: "string" },
      floor: { type: "string" },
      jobs: { type: "string" },
      unit: { type: "boolean" },
      all: { type: "boolean" },
    },
  });
  const number = (name: "seed" | "count" | "floor" | "jobs", otherwise: number) => {
    const value = Number(values[name] ?? otherwise);
    if (!(value >= 0)) throw new Error(`--${name} takes a number, not "${values[name]}"`);
    return value;
  };
  return {
    rooms: positionals.length > 0 ? positionals.map(roomPath) : ["lib/", "cmd/namespaces/"],
    seed: number("seed", Math.floor(Math.random() * 1e6)),
    count: number("count", 100),
    floor: number("floor", 0),
    jobs: number("jobs", navigator.hardwareConcurrency),
    tests: values.all ? "all" : values.unit ? "unit" : "near",
  };
}

/** Whether the mutant is in that folder, file or line. */
export function isIn(room: string, { path, line }: Mutant): boolean {
  if (room.endsWith("/")) return path.startsWith(room);
  return room === path || room === `${path}:${line}`;
}

/** `kube`, `lib/kube`, `lib/kube/client.ts` and `lib/kube/client.ts:20` are all understood. */
function roomPath(name: string): string {
  const path = /^(lib|cmd)(\/|$)/.test(name) ? name : `lib/${name}`;
  return /\.ts(:\d+)?$|\/$/.test(path) ? path : `${path}/`;
}
