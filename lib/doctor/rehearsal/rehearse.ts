/**
 * Loads this node's rules with the very writer that `run` uses, and sends packets through them, in the
 * network namespace of this thread: whoever calls this has moved it into one of its own.
 */
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Logger } from "../../base/log.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { ServicePort, Snapshot } from "../../snapshot/snapshot.ts";
import type { ModeRuntime } from "../../writers/writer.ts";
import type { FamilyLoad, RehearsalReport } from "./report.ts";
import { type Ends, ScratchNetwork } from "./scratch_network.ts";
import { sendPackets } from "./send_packets.ts";

/** What is rehearsed, and with what. */
export interface RehearseOptions {
  readonly runtime: ModeRuntime;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** As many frontends get a packet. */
  readonly mostFrontends: number;
  /** Called between loading and sending. For tests: they break something there. */
  readonly onLoaded?: () => void | Promise<void>;
}

/** One snapshot a family, IPv4 first. A family that cannot be loaded keeps no other from it. */
export async function rehearse(
  snapshots: readonly Snapshot[],
  options: RehearseOptions,
): Promise<RehearsalReport> {
  const { clock, kernel, mostFrontends, onLoaded } = options;
  const before = kernel.host.kernelBytes();
  const notices: string[] = [];
  const families: FamilyLoad[] = [];
  for (const snapshot of snapshots) families.push(await load(snapshot, { ...options, notices }));
  const kernelBytes = Math.max(0, kernel.host.kernelBytes() - before);
  await onLoaded?.();
  const loaded = snapshots.filter(({ family }) =>
    families.some((each) => each.family === family && each.error === undefined)
  );
  const open = (ends: ReadonlyMap<IpFamily, Ends>) => ScratchNetwork.open({ kernel, ends, clock });
  const packets = await sendPackets(loaded, { open, clock, most: mostFrontends });
  return { families, kernelBytes, packets, notices };
}

async function load(
  snapshot: Snapshot,
  { clock, kernel, notices, runtime, signal }: RehearseOptions & { readonly notices: string[] },
): Promise<FamilyLoad> {
  const { family } = snapshot;
  const services = [...snapshot.services.values()];
  const sum = (count: (service: ServicePort) => number) =>
    services.reduce((total, service) => total + count(service), 0);
  const startedAt = clock.monotonic();
  let messages = 0;
  let error: string | undefined;
  try {
    await using writer = await runtime.createWriter({ family, kernel, logger: silent });
    const report = await writer.sync(snapshot, { kind: "all" }, signal);
    messages = report.written;
    notices.push(...report.notices.map(({ message }) => message));
  } catch (cause) {
    error = describeError(cause);
  }
  return {
    family,
    servicePorts: services.length,
    frontends: sum(countFrontends),
    endpoints: sum(({ clusterEndpoints }) => clusterEndpoints.length),
    messages,
    milliseconds: Math.round(clock.monotonic() - startedAt),
    error,
  };
}

function countFrontends(service: ServicePort): number {
  const { clusterIP, externalIPs, loadBalancerVIPs, nodePort } = service;
  return Number(clusterIP !== "") + externalIPs.length + loadBalancerVIPs.length +
    Number(nodePort !== 0);
}

/** What a writer logs is in its report too. */
const silent: Logger = {
  info: () => {},
  verbose: () => {},
  warning: () => {},
  error: () => {},
  enabled: () => false,
};
