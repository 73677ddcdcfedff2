/** Reads what a Service asks for in one family. Lenient as upstream is: what cannot be used is left out and said. */
import { canonicalIp, familyOfCanonicalIp, ipFamilyOf, parseCidr } from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Service } from "../kube/objects.ts";
import type { PortSpec, ServiceSpec } from "../snapshot/build_service_port.ts";
import type { TrackerNotice } from "./notice_book.ts";

/** One Service as one family sees it. */
export interface ServiceRecord {
  readonly createdMs: number;
  readonly spec: ServiceSpec;
  /** Keys are unique. */
  readonly ports: readonly PortSpec[];
}

/** How records are read, the same for all Services of a family. */
export interface RecordOptions {
  readonly family: IpFamily;
  /** False leaves external IPs unprogrammed; the Service still counts as externally accessible. */
  readonly allowExternalIPs: boolean;
  readonly notice: (notice: TrackerNotice) => void;
}

/** How notices name a Service. */
export function serviceSubject(namespace: string, name: string): string {
  return `Service ${namespace}/${name}`;
}

/** Undefined for a Service that is not proxied in this family: headless, ExternalName, no address of it. */
export function readServiceRecord(
  service: Service,
  options: RecordOptions,
): ServiceRecord | undefined {
  if (service.type === "ExternalName" || service.otherProxy) return undefined;
  if (service.clusterIP === "" || service.clusterIP === "None") return undefined;
  const address = clusterIPOf(service, options.family);
  if (address === "") return undefined;
  const reader = new RecordReader(service, options);
  const clusterIP = reader.clusterIP(address);
  if (clusterIP === undefined) return undefined;
  return { createdMs: service.createdMs, spec: reader.spec(clusterIP), ports: reader.ports() };
}

/** The cluster IP that the Service has in the family, as written, or an empty string. */
function clusterIPOf(service: Service, family: IpFamily): string {
  if (service.ipFamilies.length === 0) {
    return ipFamilyOf(service.clusterIP) === family ? service.clusterIP : "";
  }
  const index = service.ipFamilies.indexOf(family);
  return index < 0 ? "" : service.clusterIPs[index] ?? "";
}

const none: readonly string[] = [];

class RecordReader {
  readonly #service: Service;
  readonly #options: RecordOptions;

  constructor(service: Service, options: RecordOptions) {
    this.#service = service;
    this.#options = options;
  }

  clusterIP(address: string): string | undefined {
    const ip = canonicalIp(address);
    if (ip !== undefined && familyOfCanonicalIp(ip) === this.#options.family) return ip;
    this.#say("cluster-ip", `its cluster IP "${address}" is no ${this.#options.family} address`);
    return undefined;
  }

  spec(clusterIP: string): ServiceSpec {
    const service = this.#service;
    const externalIPs = this.#addresses(service.externalIPs, "external-ip", "external IP");
    const externalPolicyLocal = service.externalTrafficPolicy === "Local" &&
      (service.type !== "ClusterIP" || service.externalIPs.length > 0);
    return {
      namespace: service.namespace,
      name: service.name,
      clusterIP,
      externalIPs: this.#options.allowExternalIPs ? externalIPs : none,
      loadBalancerVIPs: this.#addresses(
        service.ingress.filter(({ ipMode }) => ipMode === "VIP").map(({ ip }) => ip),
        "load-balancer-ip",
        "load balancer address",
      ),
      sourceRanges: this.#sourceRanges(),
      affinitySeconds: service.affinitySeconds,
      internalPolicyLocal: service.internalTrafficPolicy === "Local",
      externalPolicyLocal,
      listsExternalIPs: externalIPs.length > 0,
      healthCheckNodePort: this.#healthCheckNodePort(externalPolicyLocal),
    };
  }

  ports(): readonly PortSpec[] {
    const { namespace, name } = this.#service;
    const ports = new Map<string, PortSpec>();
    for (const port of this.#service.ports) {
      if (!isPort(port.port) || (port.nodePort !== 0 && !isPort(port.nodePort))) {
        this.#say("port", `its port "${port.name}" has a number outside 1-65535`);
        continue;
      }
      const label = port.name === "" ? "" : `:${port.name}`;
      const key = `${namespace}/${name}${label}/${port.protocol}`;
      ports.set(key, {
        key,
        portName: port.name,
        protocol: port.protocol,
        port: port.port,
        nodePort: port.nodePort,
      });
    }
    return [...ports.values()];
  }

  #addresses(texts: readonly string[], topic: string, what: string): readonly string[] {
    if (texts.length === 0) return none;
    const addresses: string[] = [];
    for (const text of texts) {
      const ip = canonicalIp(text);
      if (ip === undefined) {
        if (text.trim() !== "") this.#say(topic, `its ${what} "${text}" is no address`);
      } else if (familyOfCanonicalIp(ip) === this.#options.family) {
        addresses.push(ip);
      }
    }
    return addresses;
  }

  #sourceRanges(): readonly string[] {
    const ranges: string[] = [];
    let others = 0;
    for (const text of this.#service.loadBalancerSourceRanges) {
      const cidr = parseCidr(text.trim());
      if (cidr === undefined) {
        if (text.trim() !== "") this.#say("source-range", `its source range "${text}" is no CIDR`);
      } else if (cidr.family !== this.#options.family) {
        others++;
      } else if (cidr.prefixLength === 0) {
        return none;
      } else {
        ranges.push(cidr.text);
      }
    }
    if (ranges.length === 0 && others > 0) {
      const { family } = this.#options;
      this.#say(
        `open-${family}`,
        `its source ranges hold no ${family} range, so every ${family} source is allowed`,
      );
    }
    return ranges.length === 0 ? none : ranges;
  }

  #healthCheckNodePort(externalPolicyLocal: boolean): number {
    if (this.#service.type !== "LoadBalancer" || !externalPolicyLocal) return 0;
    const port = this.#service.healthCheckNodePort;
    if (isPort(port)) return port;
    this.#say("health-check", "it has external policy Local, but no health check node port");
    return 0;
  }

  #say(topic: string, what: string): void {
    const subject = serviceSubject(this.#service.namespace, this.#service.name);
    this.#options.notice({ subject, topic, message: `${subject}: ${what}` });
  }
}

/** 1 to 65535. */
export function isPort(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value < 65536;
}
