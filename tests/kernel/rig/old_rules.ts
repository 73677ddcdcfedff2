/**
 * What another mode left on the node yesterday: rules for the shop's Services as they were then. Most had
 * endpoints that are dead by now; every third one had none, and was refused; one was as it is today.
 */
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import { readRecordedRules } from "../../peers/recorded_rules.ts";
import { clusterIP, hostAddresses, loadBalancerIP } from "../../scenarios/addresses.ts";
import { clusterManifests, type Manifest } from "../../scenarios/manifests.ts";
import { type IptablesBackend, type RuleMode, setupsOf } from "../../scenarios/setups.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import type { Cluster } from "./cluster.ts";
import { upstreamProgram } from "../../controlplane/rig/proxy_process.ts";
import { ApiserverProgrammer, type JoinableControlPlane } from "./programmers/apiserver.ts";
import { InProcessProgrammer } from "./programmers/in_process.ts";
import { restoreProxyRules } from "./shop_cluster.ts";

/** Who wrote them. */
export type OldRules =
  | { readonly by: "us"; readonly mode: RuleMode }
  /** As they were recorded of its real proxy. */
  | {
    readonly by: "upstream";
    readonly mode: { readonly kind: "iptables"; readonly backend: IptablesBackend };
  }
  /** The mode that Kubernetes removed in 1.26; written from its own words. */
  | { readonly by: "userspace"; readonly backend: IptablesBackend };

/** The Service that was yesterday as it is today: its connections never fail. */
export const unchangedService = "lb-cluster";

/** Where nobody answers; the route leads to the node's own pods. */
const deadEndpoint = { IPv4: "10.128.0.250", IPv6: "fd00:10:128::250" } as const;
/** An ARP entry for it never comes: whoever sends waits, unless it is refused at once. */
const deadRoute = { IPv4: "unreachable 10.128.0.250", IPv6: "unreachable fd00:10:128::250" };

/** Those that a proxy serves at all, but for the one. */
const changedServices = shopServices.filter(({ headless, labels, name }) =>
  !headless && name !== unchangedService && labels === undefined
);

/** Yesterday's Services. */
function staleManifests(): readonly Manifest[] {
  const services = shopServices.map((service, index) => {
    if (service.name === unchangedService) return service;
    if (service.endpoints.length === 0) {
      return { ...service, endpoints: [{ host: "pod-b" }] as const };
    }
    return index % 3 === 1 ? { ...service, endpoints: [] } : service;
  });
  return clusterManifests(services).map((manifest) =>
    manifest.kind !== "EndpointSlice" || isUnchanged(manifest) ? manifest : dead(manifest)
  );
}

/** Puts them there. */
export async function leaveOldRules(cluster: Cluster, old: OldRules): Promise<void> {
  await routeToNobody(cluster);
  if (old.by === "us") {
    const [setup] = setupsOf(old.mode);
    const manifests = staleManifests();
    await (await new InProcessProgrammer().start(cluster, { manifests, setup }))
      [Symbol.asyncDispose]();
    return;
  }
  for (const family of ipFamilies) {
    const { mode, rules } = old.by === "upstream"
      ? { mode: old.mode, rules: await upstreamRules(old.mode, family) }
      : {
        mode: { kind: "iptables", backend: old.backend } as const,
        rules: userspaceRules(family),
      };
    await restoreProxyRules(cluster, { mode, family, rules });
  }
}

/**
 * The same by upstream's own proxy, of which all these rules are then there at once. It has a control plane
 * of its own where none is given.
 */
export async function leaveUpstreamsRules(
  cluster: Cluster,
  modes: readonly RuleMode[],
  plane?: JoinableControlPlane,
): Promise<void> {
  await routeToNobody(cluster);
  const program = upstreamProgram();
  if (!program) throw new Error("Cannot start upstream's proxy: run scripts/controlplane-tools");
  await using programmer = await ApiserverProgrammer.create(program, plane);
  for (const mode of modes) {
    const [setup] = setupsOf(mode);
    const manifests = staleManifests();
    await (await programmer.start(cluster, { manifests, setup }))[Symbol.asyncDispose]();
  }
}

/** A few words for a step's name. */
export function nameOfOldRules(old: OldRules): string {
  if (old.by === "userspace") return `userspace, ${old.backend} backend`;
  const { mode } = old;
  const place = mode.kind === "nftables" ? mode.kind : `${mode.kind}, ${mode.backend} backend`;
  return old.by === "us" ? place : `${place}, by upstream's proxy`;
}

async function routeToNobody(cluster: Cluster): Promise<void> {
  for (const family of ipFamilies) {
    const tool = family === "IPv4" ? ["ip"] : ["ip", "-6"];
    await cluster.run("node", [...tool, "route", "replace", ...deadRoute[family].split(" ")]);
  }
}

function isUnchanged({ metadata }: Manifest): boolean {
  return metadata.labels?.["kubernetes.io/service-name"] === unchangedService;
}

function dead(slice: Manifest): Manifest {
  const family = slice.addressType === "IPv6" ? "IPv6" : "IPv4";
  const endpoints: readonly object[] = Array.isArray(slice.endpoints) ? slice.endpoints : [];
  return {
    ...slice,
    // Two endpoints of a slice with one address are one endpoint.
    endpoints: endpoints.slice(0, 1).map((each) => ({
      ...each,
      addresses: [deadEndpoint[family]],
    })),
  };
}

/** Without rules that count into what this namespace lacks, and with REJECTs of yesterday. */
async function upstreamRules(mode: RuleMode, family: IpFamily): Promise<readonly string[]> {
  const [setup] = setupsOf(mode);
  const rules = await readRecordedRules(setup, family);
  const isKept = (line: string) => !line.includes("nfacct");
  const to = family === "IPv4" ? `${deadEndpoint.IPv4}:` : `[${deadEndpoint.IPv6}]:`;
  return rules.filter(isKept).map((line) =>
    line.includes(`shop/${unchangedService}:`)
      ? line
      : line.replace(/(--to-destination )(\[.*\]:|[\d.]+:)/, `$1${to}`)
  ).flatMap((line, index, all) =>
    line === "COMMIT" && all.lastIndexOf("*filter", index) > all.lastIndexOf("*nat", index)
      ? [...oldRejects(family), line]
      : [line]
  );
}

/** In upstream's words, for Services that have endpoints by now. */
function oldRejects(family: IpFamily): readonly string[] {
  const full = family === "IPv4" ? 32 : 128;
  const icmp = family === "IPv4" ? "icmp-port-unreachable" : "icmp6-port-unreachable";
  const changed = changedServices.filter(({ endpoints }) => endpoints.length > 0);
  return changed.flatMap(({ ipMode, name, number, ports }) =>
    ports.filter(({ protocol }) => protocol === "TCP").flatMap(({ port }) =>
      ([["KUBE-SERVICES", clusterIP], ["KUBE-EXTERNAL-SERVICES", loadBalancerIP]] as const)
        .filter(([chain]) => chain === "KUBE-SERVICES" || number < 256 && ipMode !== "Proxy")
        .map(([chain, addressOf]) =>
          `-A ${chain} -d ${
            addressOf(number)[family]
          }/${full} -p tcp -m comment --comment "shop/${name}:tcp-${port} has no endpoints" -m tcp --dport ${port} -j REJECT --reject-with ${icmp}`
        )
    )
  );
}

/** Its proxy listened on a port of the node for every Service, and is gone. */
function userspaceRules(family: IpFamily): readonly string[] {
  const full = family === "IPv4" ? 32 : 128;
  const node = hostAddresses.node[family];
  const to = (port: number) => family === "IPv4" ? `${node}:${port}` : `[${node}]:${port}`;
  const portals = changedServices.flatMap(({ name, number, ports }) =>
    ports.filter(({ protocol }) => protocol === "TCP").map(({ port }, index) => ({
      match: `-d ${clusterIP(number)[family]}/${full} -p tcp -m comment --comment shop/${name} ` +
        `-m tcp --dport ${port}`,
      local: 40_000 + 10 * number + index,
    }))
  );
  const comment = {
    portals: '--comment "handle ClusterIPs; NOTE: this must be before the NodePort rules"',
    ports: '--comment "handle service NodePorts; NOTE: this must be the last rule in the chain"',
  };
  const local = "-m addrtype --dst-type LOCAL";
  return [
    "*nat",
    ...["PORTALS-CONTAINER", "PORTALS-HOST", "NODEPORT-CONTAINER", "NODEPORT-HOST"]
      .map((chain) => `:KUBE-${chain} - [0:0]`),
    `-A PREROUTING -m comment ${comment.portals} -j KUBE-PORTALS-CONTAINER`,
    `-A PREROUTING ${local} -m comment ${comment.ports} -j KUBE-NODEPORT-CONTAINER`,
    `-A OUTPUT -m comment ${comment.portals} -j KUBE-PORTALS-HOST`,
    `-A OUTPUT ${local} -m comment ${comment.ports} -j KUBE-NODEPORT-HOST`,
    ...portals.flatMap(({ local, match }) => [
      `-A KUBE-PORTALS-CONTAINER ${match} -j REDIRECT --to-ports ${local}`,
      `-A KUBE-PORTALS-HOST ${match} -j DNAT --to-destination ${to(local)}`,
    ]),
    "COMMIT",
  ];
}
