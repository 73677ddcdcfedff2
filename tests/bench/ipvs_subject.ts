/** The cluster of the bench of ipvs mode, and what is measured on it. */
import type { IpvsFrontend } from "../../lib/kernel/ipvs/ipvs.ts";
import type { ManifestObject } from "../controlplane/rig/api.ts";
import { endpointSliceObject, serviceObject } from "../controlplane/rig/objects.ts";

const NAMESPACE = "bulk";
const SERVICES = 2_000;
const ENDPOINTS = 5;
/** Service 0 has 172.30.1.0. */
const FIRST_ADDRESS = 256;

/** One contender's. */
export interface IpvsFigures {
  readonly name: "ours" | "upstream";
  /** The program alone, which says its version. */
  readonly programMs: number;
  /** From the start of the process to the end of the first sync of both families. */
  readonly firstSyncMs: number;
  /** Of that, from when there is the first thing in the kernel to the end. */
  readonly writingMs: number;
  /** The syncs of IPv4 until then, as the program itself counts them. */
  readonly countedSyncMs: number;
  /** What the processor did from the start of the process to the end of the first sync, with all that it started. */
  readonly firstSyncCpuMs: number;
  /** From the request of each change to its effect. */
  readonly changeMs: readonly number[];
  /** Of that, until the apiserver's answer is here: the same work for both. */
  readonly requestMs: readonly number[];
  readonly restartMs: number;
  /** What a restart with nothing changed wrote, where the program tells. */
  readonly restartMessages?: number;
  readonly forkedNothing: boolean;
}

/** One change. Only what is of another generation than before is one at all. */
export interface BulkChange {
  readonly generation: 1 | 2;
  readonly step: number;
}

/** Where the endpoints run. ipvs mode has one more entry for each that runs on its own node. */
export interface BulkPlace {
  readonly nodeName: string;
}

/** The node that is measured, and one that is not. */
export const bulkNodes = { here: "node", elsewhere: "node-1" } as const;

/** Services with one port and one slice each. */
export const bulkCluster = {
  services: SERVICES,
  endpoints: ENDPOINTS,

  /** All objects but the namespace. */
  objects(place: BulkPlace): readonly ManifestObject[] {
    return Array.from({ length: SERVICES }, (_, number) => [
      serviceObject({
        namespace: NAMESPACE,
        name: nameOf(number),
        spec: { clusterIP: clusterIPOf(number), ipFamilyPolicy: "SingleStack" },
      }),
      sliceOf(number, 0, place),
    ]).flat();
  },

  namespace: NAMESPACE,

  /** A Service's slice with the endpoints of a generation from 1 on; each step changes another Service. */
  changedSlice({ generation, step }: BulkChange, place: BulkPlace): ManifestObject {
    return sliceOf(changedAt(step), generation, place);
  },

  /** Of the Service that a step changes. */
  frontendAt(step: number): IpvsFrontend {
    return { family: "IPv4", protocol: "tcp", address: clusterIPOf(changedAt(step)), port: 80 };
  },

  /** The endpoints that a change brings. */
  addressesAt({ generation, step }: BulkChange): readonly string[] {
    return addressesOf(changedAt(step), generation);
  },
};

function changedAt(step: number): number {
  return (step * 7919 + 1) % SERVICES;
}

function nameOf(number: number): string {
  return `bulk-${String(number).padStart(5, "0")}`;
}

function clusterIPOf(number: number): string {
  const address = number + FIRST_ADDRESS;
  return `172.30.${address >> 8}.${address & 0xff}`;
}

/** Each generation has addresses of its own, within the pods' range. */
function addressesOf(number: number, generation: number): readonly string[] {
  return Array.from({ length: ENDPOINTS }, (_, i) => {
    const address = 0x10000 * (1 + generation) + number * ENDPOINTS + i;
    return `10.${128 + (address >> 16)}.${(address >> 8) & 0xff}.${address & 0xff}`;
  });
}

function sliceOf(
  number: number,
  generation: number,
  { nodeName }: BulkPlace,
): ManifestObject {
  return endpointSliceObject({
    namespace: NAMESPACE,
    name: nameOf(number),
    addresses: addressesOf(number, generation),
    nodeName,
  });
}
