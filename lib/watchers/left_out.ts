/** Services of files that are not served, and why, for the author of the files. */
import { assertNever } from "../base/assert_never.ts";
import type { Service } from "../kube/objects.ts";

/** Why a Service is left out. Headless ones and external names have nothing to be served: no reason. */
export type LeftOutReason = "no cluster IP" | "another proxy" | "opted out";

/** Undefined for a Service that is served, or that never asks for it. */
export function whyLeftOut(
  service: Service,
  optedOut: ReadonlySet<string>,
): LeftOutReason | undefined {
  const { namespace, type, clusterIP, otherProxy } = service;
  if (otherProxy) return "another proxy";
  if (optedOut.has(namespace)) return "opted out";
  return clusterIP === "" && type !== "ExternalName" ? "no cluster IP" : undefined;
}

/** How many names a sentence holds at most. */
const maxNames = 3;
const reasons: readonly LeftOutReason[] = ["no cluster IP", "another proxy", "opted out"];

/** Which Services are left out now. Each is reason for a sentence once. */
export class LeftOut {
  readonly #names = new Map<LeftOutReason, Set<string>>(
    reasons.map((reason) => [reason, new Set()]),
  );
  readonly #told = new Set<string>();
  #hasNews = false;

  /** Undefined when the Service is not left out, or gone. */
  set(name: string, reason: LeftOutReason | undefined): void {
    for (const names of this.#names.values()) names.delete(name);
    if (reason === undefined) return;
    this.#names.get(reason)?.add(name);
    const told = `${reason} ${name}`;
    if (this.#told.has(told)) return;
    this.#told.add(told);
    this.#hasNews = true;
  }

  /** One sentence about all of them; undefined when there is nothing new since the last one. */
  takeSummary(): string | undefined {
    if (!this.#hasNews) return undefined;
    this.#hasNews = false;
    const groups = reasons.flatMap((reason) => {
      const names = [...this.#names.get(reason) ?? []].sort();
      return names.length === 0 ? [] : [{ reason, names }];
    });
    const all = groups.reduce((sum, { names }) => sum + names.length, 0);
    if (all === 0) return undefined;
    const parts = groups.map(({ reason, names }) => {
      const shown = names.slice(0, maxNames).join(", ");
      const more = names.length > maxNames ? ", ..." : "";
      return `${names.length} ${describe(reason)} (${shown}${more})`;
    });
    return `Left out ${all} ${all === 1 ? "Service" : "Services"}: ${parts.join("; ")}`;
  }
}

function describe(reason: LeftOutReason): string {
  switch (reason) {
    case "no cluster IP":
      return "without spec.clusterIP, which an apiserver would give and a file has to hold";
    case "another proxy":
      return "labelled for another proxy";
    case "opted out":
      return "in a namespace that is opted out";
    default:
      return assertNever(reason);
  }
}
