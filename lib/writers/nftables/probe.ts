/**
 * Whether this kernel can hold the table. It is asked, not guessed from its version: a batch with
 * every kind of rule that the mode can write, which ends in an operation that cannot succeed. The
 * kernel judges each operation and then forgets them all; nothing changes, not even the generation.
 */
import { describeError } from "../../base/errors.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { isNotPermitted, isUncertain, NfTablesError } from "../../kernel/nf_tables/errors.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftOperation, NftTable } from "../../kernel/nftables/operations.ts";
import type { ServicePort, Snapshot } from "../../snapshot/snapshot.ts";
import type { Probe } from "../writer.ts";
import { tableOf } from "./names.ts";
import { firstLoad } from "./render.ts";

/** Asks the kernel behind `nftables` about one family. */
export async function probe(nftables: Nftables, family: IpFamily): Promise<Probe> {
  const table: NftTable = { ...tableOf(family), name: "kube-proxy-probe" };
  const operations: NftOperation[] = [...firstLoad(sample(family), { masqueradeBit: 14 })]
    .flatMap((batch) => batch.operations);
  const last = operations.push({ kind: "delete-set", set: "never-there" }) - 1;
  try {
    await nftables.commit(table, operations);
  } catch (error) {
    return judge(error, last);
  }
  return { kind: "unknown", reason: "the kernel took what it should have refused" };
}

function judge(error: unknown, last: number): Probe {
  if (isNotPermitted(error) || isUncertain(error) || !(error instanceof NfTablesError)) {
    return { kind: "unknown", reason: describeError(error) };
  }
  if (error.failures.every(({ operation }) => operation === last)) return { kind: "supported" };
  return { kind: "unsupported", reason: describeError(error) };
}

/** One Service of each shape, under settings that need the most kinds of rules. */
function sample(family: IpFamily): Snapshot {
  const isIpv4 = family === "IPv4";
  const endpoint = { ip: isIpv4 ? "10.128.0.1" : "fd00:10:128::1", port: 80, isLocal: true };
  const plain: ServicePort = {
    key: "probe/plain:http/TCP",
    namespace: "probe",
    name: "plain",
    portName: "http",
    protocol: "TCP",
    clusterIP: isIpv4 ? "172.30.0.1" : "fd00:172:30::1",
    port: 80,
    externalIPs: [],
    loadBalancerVIPs: [isIpv4 ? "203.0.113.1" : "2001:db8:113::1"],
    nodePort: 30080,
    sourceRanges: [isIpv4 ? "192.168.0.0/16" : "fd00:192:168::/48"],
    sourceRangesHoldNode: false,
    affinitySeconds: 0,
    internalPolicyLocal: false,
    externalPolicyLocal: true,
    externallyAccessible: true,
    internal: "forward",
    external: "forward",
    hasEndpoints: true,
    clusterEndpoints: [endpoint],
    localEndpoints: [endpoint],
    reachableEndpoints: [endpoint],
    nodeEndpoints: [endpoint],
    endpointCount: 1,
    servingEndpoints: [],
    healthCheckNodePort: 0,
  };
  const pinned: ServicePort = {
    ...plain,
    key: "probe/pinned:http/TCP",
    name: "pinned",
    port: 81,
    nodePort: 0,
    affinitySeconds: 60,
  };
  return {
    family,
    settings: {
      masqueradeAll: false,
      localTraffic: { kind: "interface-prefix", prefix: "veth" },
      nodePortAddresses: { kind: "all" },
      serviceCIDRs: [isIpv4 ? "172.30.0.0/16" : "fd00:172:30::/108"],
      leftovers: true,
    },
    services: new Map([[plain.key, plain], [pinned.key, pinned]]),
  };
}
