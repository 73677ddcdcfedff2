/** What this process may do, and whether it sees the node's network. */
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import { isInNodeNetwork } from "../../kernel/inspection/processes.ts";
import type { Self } from "../../kernel/self.ts";
import type { Fact, FactContext, FactReader } from "../fact.ts";
import { known, unknown } from "./known.ts";
import type { Rights } from "./node_values.ts";

/** What the reader works with. */
export interface RightsOptions {
  readonly self: Pick<Self, "hasNetAdmin">;
  /** The node's; below another root for a pod that looks at its node. */
  readonly files: KernelFiles;
}

/** Reads them. */
export function rightsReader({ files, self }: RightsOptions): FactReader<Rights> {
  return {
    read: () =>
      known({
        hasNetAdmin: self.hasNetAdmin(),
        isInNodeNetwork: isInNodeNetwork(files),
      }),
  };
}

/**
 * Reads what belongs to a network namespace. Below another root that is the node's: where this process
 * is in another one it would see that of its pod, which is worse than nothing.
 */
export function ofNodeNetwork<T>(
  hostRoot: string,
  read: (context: FactContext) => Fact<T> | Promise<Fact<T>>,
): FactReader<T>["read"] {
  return async (context) => {
    if (hostRoot === "") return await read(context);
    const rights = await context.facts.read("rights");
    if (rights.kind === "value" && rights.value.isInNodeNetwork) return await read(context);
    return unknown(
      "this process is not in the node's network",
      'Set "hostNetwork: true" and "hostPID: true" in the pod, or use kubectl debug node.',
    );
  };
}
