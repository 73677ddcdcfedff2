/**
 * What is legal in a configuration and still looks wrong on this node: values of one address family
 * where the other is needed. Only what never worked is fatal, as upstream.
 */
import { ipFamilyOf, parseCidr, parseIp } from "../../lib/base/ip.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { ProxyConfiguration } from "../../lib/config/internal.ts";
import { parseListenAddress } from "./servers.ts";

export interface SanityFacts {
  readonly configuration: ProxyConfiguration;
  readonly primary: IpFamily;
  /** Both families can be programmed here. */
  readonly dualStack: boolean;
  /** The Node's, where local traffic is told by them. */
  readonly podCIDRs: readonly string[];
  /** The gate for node ports on loopback addresses is on. */
  readonly localhostGate: boolean;
}

/** One sentence each; the fatal ones end the start. */
export interface SanityReport {
  readonly warnings: readonly string[];
  readonly fatal: readonly string[];
}

/** Keywords among the nodePortAddresses count for both families. */
export function checkSanity(facts: SanityFacts): SanityReport {
  const familyChecks = checkFamilies(facts);
  const sentences = (fatal: boolean) =>
    familyChecks.filter((check) => check.fatal === fatal).map(({ message }) => message);
  const warnings = [...checkNodePorts(facts), ...checkLocalhost(facts), ...sentences(false)];
  return { warnings, fatal: sentences(true) };
}

function checkNodePorts({ configuration, podCIDRs, primary }: SanityFacts): string[] {
  const { detectLocal, ipvs, nodePortAddresses } = configuration;
  if (nodePortAddresses.length === 0) {
    return [
      'nodePortAddresses is unset: node ports answer on all addresses of this node; consider "primary"',
    ];
  }
  const cidrs = nodePortAddresses.flatMap((entry) => parseCidr(entry) ?? []);
  if (cidrs.length < nodePortAddresses.length) return [];
  const other = otherFamily(primary);
  const ofPrimary = cidrs.filter(({ family }) => family === primary).length;
  const anyDual = [detectLocal.clusterCIDRs, nodePortAddresses, ipvs.excludeCIDRs, podCIDRs].some(
    isDual,
  );
  if (anyDual && ofPrimary === cidrs.length) {
    return [
      `the cluster looks dual-stack and nodePortAddresses has only ${primary} ranges: node ports answer on all ${other} addresses of this node`,
    ];
  }
  if (ofPrimary === 0) {
    return [
      `the cluster looks ${primary}-primary and nodePortAddresses has only ${other} ranges: node ports answer on all ${primary} addresses of this node`,
    ];
  }
  return [];
}

/** Loopback addresses need a proxy in user space, which this program does not have. */
function checkLocalhost({ configuration, localhostGate }: SanityFacts): string[] {
  const asked = configuration.nodePortAddresses.includes("localhost");
  if (configuration.mode !== "nftables" || !asked && !localhostGate) return [];
  return [
    "node ports do not answer on loopback addresses in nftables mode: this version has no proxy for them",
  ];
}

interface FamilyCheck {
  readonly message: string;
  readonly fatal: boolean;
}

function checkFamilies(
  { configuration, dualStack, podCIDRs, primary }: SanityFacts,
): FamilyCheck[] {
  const { detectLocal, detectLocalMode, ipvs, winkernel } = configuration;
  const wrong = otherFamily(primary);
  const cluster = `the cluster is ${primary}-${dualStack ? "primary" : "only"}`;
  const found: FamilyCheck[] = [];
  const add = (is: boolean, what: string, fatal = false) => {
    if (is) found.push({ message: `${cluster} and ${what} ${wrong} only`, fatal });
  };
  add(
    allOf(detectLocal.clusterCIDRs, wrong),
    "clusterCIDRs hold",
    detectLocalMode === "ClusterCIDR" && !dualStack,
  );
  add(allOf(podCIDRs, wrong), "the node's podCIDRs hold", detectLocalMode === "NodeCIDR");
  add(ipFamilyOf(winkernel.sourceVip) === wrong, "winkernel.sourceVip is");
  if (dualStack) return found;
  add(allOf(ipvs.excludeCIDRs, wrong), "ipvs.excludeCIDRs hold");
  add(isAddressOf(configuration.healthzBindAddress, wrong), "healthzBindAddress is");
  add(isAddressOf(configuration.metricsBindAddress, wrong), "metricsBindAddress is");
  return found;
}

function allOf(cidrs: readonly string[], family: IpFamily): boolean {
  return cidrs.length > 0 && cidrs.every((cidr) => parseCidr(cidr)?.family === family);
}

function isDual(cidrs: readonly string[]): boolean {
  return new Set(cidrs.map((cidr) => parseCidr(cidr)?.family)).size > 1 &&
    cidrs.every((cidr) => parseCidr(cidr) !== undefined);
}

function isAddressOf(bindAddress: string, family: IpFamily): boolean {
  const hostname = parseListenAddress(bindAddress)?.hostname ?? "";
  const bytes = parseIp(hostname);
  return bytes !== undefined && bytes.some((byte) => byte !== 0) && ipFamilyOf(hostname) === family;
}

function otherFamily(family: IpFamily): IpFamily {
  return family === "IPv4" ? "IPv6" : "IPv4";
}
