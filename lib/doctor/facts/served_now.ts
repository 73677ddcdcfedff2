/** What this kernel serves now, beside what it would serve then: an address on one side only shows. */
import { joinHostPort } from "../../base/ip.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { ServicePort, Snapshot } from "../../snapshot/snapshot.ts";
import type { ModeLeftovers, ServedFrontend } from "../../writers/leftovers.ts";
import type { Fact, FactReader } from "../fact.ts";
import type { ServedComparison } from "./fact_values.ts";

/** What is compared. */
export interface ServedNowOptions {
  readonly leftovers: ReadonlyMap<string, () => Promise<ModeLeftovers>>;
  readonly kernel: Kernel;
  /** What this node is to serve. */
  readonly snapshots: () => Promise<Fact<readonly Snapshot[]>>;
}

/** Absent where nothing serves now that could be compared. */
export function servedNowReader(
  { kernel, leftovers, snapshots }: ServedNowOptions,
): FactReader<ServedComparison> {
  return {
    timeoutMs: 30_000,
    read: async ({ signal }) => {
      const wanted = await snapshots();
      if (wanted.kind !== "value") return wanted;
      const now: ServedFrontend[] = [];
      for (const load of leftovers.values()) {
        const door = await load();
        // A mode that left nothing is not read: that alone may take long.
        if (!door.served || (await door.find(kernel, signal)).length === 0) continue;
        for (const frontend of await door.served(kernel, signal)) now.push(frontend);
      }
      if (now.length === 0) return { kind: "absent", because: "no rules of a proxy are here" };
      return { kind: "value", value: compare(now, wanted.value.flatMap(servedBy)) };
    },
  };
}

function compare(
  now: readonly ServedFrontend[],
  then: readonly ServedFrontend[],
): ServedComparison {
  const [before, after] = [new Set(now.map(describe)), new Set(then.map(describe))];
  return {
    onlyNow: [...before].filter((each) => !after.has(each)).sort(),
    onlyThen: [...after].filter((each) => !before.has(each)).sort(),
  };
}

function servedBy({ services }: Snapshot): readonly ServedFrontend[] {
  return [...services.values()].flatMap((service) => {
    const { port, protocol } = service;
    return addressesOf(service).map((ip) => ({ ip, port, protocol }));
  });
}

/** Those behind which there is an endpoint for somebody. */
function addressesOf(service: ServicePort): readonly string[] {
  const { clusterIP, externalIPs, hasEndpoints, internal, loadBalancerVIPs } = service;
  const inside = clusterIP !== "" && internal === "forward" ? [clusterIP] : [];
  return hasEndpoints ? [...inside, ...externalIPs, ...loadBalancerVIPs] : inside;
}

function describe({ ip, port, protocol }: ServedFrontend): string {
  return `${joinHostPort(ip, port)}/${protocol}`;
}
