/** `doctor` as a process in a guest, and what it told. */
import assert from "node:assert/strict";
import { ProxyFiles } from "../../controlplane/rig/proxy_files.ts";
import { tryCommand } from "../../kernel/rig/command.ts";
import { ourProgramArgv } from "../../kernel/rig/our_program.ts";
import { podCIDRs } from "../../scenarios/addresses.ts";
import type { Setup } from "../../scenarios/setups.ts";
import type { ProofNode } from "./proof.ts";

/** One check as the program's JSON has it. */
export interface ToldCheck {
  readonly id: string;
  readonly result: "pass" | "warn" | "fail" | "skip" | "unknown";
  readonly subject: string;
  readonly evidence: readonly string[];
  readonly advice: readonly string[];
}

/** A run. */
export interface Examination {
  readonly code: number;
  readonly from: string | null;
  readonly verdict: {
    readonly canMove: boolean | null;
    readonly changes: number;
    readonly because: readonly string[];
  };
  readonly checks: ReadonlyMap<string, ToldCheck>;
  /** What it said of modules that looking loaded. */
  readonly stderr: string;
}

/** Runs it with these arguments; `prefix` is what leads into a namespace. */
export async function examine(
  args: readonly string[],
  { prefix = [], stdin = "" }: { readonly prefix?: readonly string[]; readonly stdin?: string } =
    {},
): Promise<Examination> {
  const argv = [...prefix, ...ourProgramArgv(), "doctor", "-o", "json", ...args];
  const { code, stderr, stdout } = await tryCommand(argv, stdin);
  assert.ok(stdout !== "", `doctor says nothing (exit code ${code}): ${stderr}`);
  const { checks, from, verdict } = JSON.parse(stdout);
  const byId = new Map((checks as readonly ToldCheck[]).map((each) => [each.id, each]));
  return { code, from, verdict, checks: byId, stderr };
}

/** With the configuration that the node's proxy has; a node of the tests is not the guest's first network. */
export async function examineNode(
  { cluster, programmer }: Pick<ProofNode, "cluster" | "programmer">,
  mode: string,
  rest: Pick<Setup, "excludeCIDRs"> = {},
): Promise<Examination> {
  await using files = await ProxyFiles.create(programmer.plane.access, {
    ...rest,
    mode,
    nodePortAddresses: ["primary"],
    detectLocalMode: "ClusterCIDR",
    clusterCIDR: `${podCIDRs.IPv4},${podCIDRs.IPv6}`,
  });
  const args = ["--config", files.config, "--node", "node", "--skip", "NET05"];
  return await examine(args, { prefix: cluster.inside("node", []) });
}

/** Ids of the checks that ended so. */
export function idsOf({ checks }: Examination, result: ToldCheck["result"]): readonly string[] {
  return [...checks.values()].filter((each) => each.result === result).map(({ id }) => id);
}

/** What these checks print that can be run: sentences begin with a capital letter. */
export function commandsOf(
  { checks }: Examination,
  result: ToldCheck["result"],
): readonly string[] {
  return [...checks.values()].filter((each) => each.result === result)
    .flatMap(({ advice }) => advice)
    .filter((line) => !/^[A-Z][a-z]* /.test(line));
}
