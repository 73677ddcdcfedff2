/**
 * A process that does nothing but take the first complete state, as `run` does, and prints what that
 * took. Services and EndpointSlices are followed at the same time, opted-out namespaces left out.
 */
import { systemClock as clock } from "../../lib/base/clock.ts";
import type { ApiObject } from "../../lib/kube/objects.ts";
import { createApiserverSource } from "../../lib/watchers/apiserver_source.ts";
import type { Watcher } from "../../lib/watchers/watcher.ts";
import type { ControlPlaneAccess } from "../controlplane/rig/control_plane.ts";
import { CollectingLog, createTestClient } from "../fakes/kube_client.ts";

/** What the process prints as JSON. */
export interface FirstState {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Of all threads of the process since its start. */
  readonly totalCpuMs: number;
  readonly residentMb: number;
  readonly peakMb: number;
  readonly decodedMb: number;
  readonly objects: number;
}

if (import.meta.main) await main(JSON.parse(Deno.args[0]));

async function main(access: ControlPlaneAccess): Promise<void> {
  const { client, received } = createTestClient({
    url: access.url,
    caCertificate: access.caCertificate,
    access: { token: { kind: "inline", text: access.proxyToken } },
  });
  const cpuBefore = cpuMs();
  const started = performance.now();
  const stop = new AbortController();
  const { signal } = stop;
  const log = new CollectingLog();
  const optOut = { delayMs: 1_000 };
  const source = createApiserverSource({ client, nodeName: "node", optOut, clock, log, signal });
  const states = await Promise.all([
    firstState(source.services, signal),
    firstState(source.endpointSlices, signal),
  ]);
  const figures: FirstState = {
    wallMs: performance.now() - started,
    cpuMs: cpuMs() - cpuBefore,
    totalCpuMs: cpuMs(),
    residentMb: memoryMb("VmRSS"),
    peakMb: memoryMb("VmHWM"),
    decodedMb: received.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6,
    objects: states.reduce((sum, objects) => sum + objects.length, 0),
  };
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(figures)));
  Deno.exit(0);
}

async function firstState<T extends ApiObject>(
  watcher: Watcher<T>,
  signal: AbortSignal,
): Promise<readonly T[]> {
  for await (const batch of watcher.watch(signal)) {
    if (batch.kind === "replace") return batch.objects;
  }
  return [];
}

/** User and system time; the kernel counts in hundredths of a second. */
function cpuMs(): number {
  const fields = Deno.readTextFileSync("/proc/self/stat").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function memoryMb(field: string): number {
  const status = Deno.readTextFileSync("/proc/self/status");
  return Number(status.match(new RegExp(`^${field}:\\s+(\\d+)`, "m"))?.[1]) / 1024;
}
