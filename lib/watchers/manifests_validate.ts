/** What of the apiserver's validation protects a proxy, for objects that never passed an apiserver. */
import { canonicalIp, familyOfCanonicalIp, parseCidr } from "../base/ip.ts";
import type { JsonObject, JsonPath } from "../kube/json/values.ts";
import { isJsonObject } from "../kube/json/values.ts";
import type {
  ApiObject,
  EndpointSlice,
  Namespace,
  Node,
  Service,
  ServiceCIDR,
} from "../kube/objects.ts";

/** A value that cannot be. */
export interface Breach {
  readonly path: JsonPath;
  /** A clause that follows the field: `must be an IP address, not "10.0.0.300"`. */
  readonly rule: string;
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const optionalPort = { least: 0, most: 65535 };
const protocols = ["TCP", "UDP", "SCTP"];
const policies = ["Cluster", "Local"];
const serviceWords: readonly (readonly [string, readonly string[]])[] = [
  ["type", ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]],
  ["sessionAffinity", ["None", "ClientIP"]],
  ["externalTrafficPolicy", policies],
  ["internalTrafficPolicy", policies],
];

/** `raw` is the same object before decoding, which turns unknown words into defaults. */
export function validateService(raw: JsonObject, service: Service): readonly Breach[] {
  const report = new Breaches();
  report.meta(service, { namespaced: true, longest: 63 });
  const spec = isJsonObject(raw.spec) ? raw.spec : {};
  for (const [field, words] of serviceWords) {
    report.word(spec[field], { path: ["spec", field], words });
  }
  validateClusterIPs(service, report);
  validateServicePorts(raw, service, report);
  report.addresses(service.externalIPs, ["spec", "externalIPs"]);
  service.loadBalancerSourceRanges.forEach((range, i) => {
    if (parseCidr(range.trim())) return;
    report.add(["spec", "loadBalancerSourceRanges", i], `must be a CIDR, not "${range}"`);
  });
  const ingress = itemsOf(raw, ["status", "loadBalancer", "ingress"]);
  ingress.forEach((entry, i) => {
    const path: JsonPath = ["status", "loadBalancer", "ingress", i];
    if (typeof entry.ip === "string" && entry.ip !== "") report.address(entry.ip, [...path, "ip"]);
    report.word(entry.ipMode, { path: [...path, "ipMode"], words: ["VIP", "Proxy"] });
  });
  report.range(service.healthCheckNodePort, {
    path: ["spec", "healthCheckNodePort"],
    ...optionalPort,
  });
  if (service.affinitySeconds !== 0) {
    const path = ["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"];
    report.range(service.affinitySeconds, { path, least: 1, most: 86400 });
  }
  return report.list;
}

/** See `validateService`. */
export function validateEndpointSlice(raw: JsonObject, slice: EndpointSlice): readonly Breach[] {
  const report = new Breaches();
  report.meta(slice, { namespaced: true, longest: 253 });
  if (slice.addressType === "") report.add(["addressType"], "is required");
  report.word(raw.addressType, { path: ["addressType"], words: ["IPv4", "IPv6", "FQDN"] });
  validateSlicePorts(raw, slice, report);
  const { addressType } = slice;
  if (addressType !== "IPv4" && addressType !== "IPv6") return report.list;
  slice.endpoints.forEach(({ address }, i) => {
    const ip = canonicalIp(address);
    if (ip !== undefined && familyOfCanonicalIp(ip) === addressType) return;
    if (address === "") report.add(["endpoints", i, "addresses"], "must hold an address");
    else {
      const rule = `must be an ${addressType} address, not "${address}"`;
      report.add(["endpoints", i, "addresses", 0], rule);
    }
  });
  return report.list;
}

/** Names and pod CIDRs. */
export function validateNode(node: Node): readonly Breach[] {
  const report = new Breaches();
  report.meta(node, { namespaced: false, longest: 253 });
  report.cidrs(node.podCIDRs, ["spec", "podCIDRs"]);
  return report.list;
}

/** The name. */
export function validateNamespace(namespace: Namespace): readonly Breach[] {
  const report = new Breaches();
  report.meta(namespace, { namespaced: false, longest: 63 });
  return report.list;
}

/** Name and ranges. */
export function validateServiceCIDR(object: ServiceCIDR): readonly Breach[] {
  const report = new Breaches();
  report.meta(object, { namespaced: false, longest: 253 });
  report.cidrs(object.cidrs, ["spec", "cidrs"]);
  return report.list;
}

function validateClusterIPs(service: Service, report: Breaches): void {
  const { clusterIP, clusterIPs, ipFamilies } = service;
  if (clusterIP === "" || clusterIP === "None") return;
  report.address(clusterIP, ["spec", "clusterIP"]);
  clusterIPs.forEach((ip, i) => {
    if (ip !== clusterIP) report.address(ip, ["spec", "clusterIPs", i]);
  });
  if (clusterIPs.length > 2) report.add(["spec", "clusterIPs"], "must not hold more than two");
  if (clusterIPs[0] !== clusterIP) {
    report.add(["spec", "clusterIPs", 0], `must be the clusterIP "${clusterIP}"`);
  }
  ipFamilies.forEach((family, i) => {
    const path: JsonPath = ["spec", "ipFamilies", i];
    if (family !== "IPv4" && family !== "IPv6") {
      report.add(path, `must be IPv4 or IPv6, not "${family}"`);
      return;
    }
    const ip = canonicalIp(clusterIPs[i] ?? "");
    if (ip !== undefined && familyOfCanonicalIp(ip) !== family) {
      report.add(path, `must be the family of the cluster IP "${ip}"`);
    }
  });
  if (new Set(ipFamilies).size < ipFamilies.length) {
    report.add(["spec", "ipFamilies"], "must not hold a family twice");
  }
}

function validateServicePorts(raw: JsonObject, service: Service, report: Breaches): void {
  const rawPorts = itemsOf(raw, ["spec", "ports"]);
  const names = new Set<string>();
  const numbers = new Set<string>();
  service.ports.forEach((port, i) => {
    const path: JsonPath = ["spec", "ports", i];
    report.word(rawPorts[i]?.protocol, { path: [...path, "protocol"], words: protocols });
    report.range(port.port, { path: [...path, "port"], least: 1, most: 65535 });
    report.range(port.nodePort, { path: [...path, "nodePort"], ...optionalPort });
    report.portName(port.name, [...path, "name"]);
    if (port.name === "" && service.ports.length > 1) {
      report.add([...path, "name"], "is required where there are several ports");
    } else if (names.has(port.name)) {
      report.add([...path, "name"], `must be unique, but "${port.name}" is there twice`);
    }
    names.add(port.name);
    const number = `${port.port}/${port.protocol}`;
    if (numbers.has(number)) {
      report.add([...path, "port"], `must be unique, but ${number} is there twice`);
    }
    numbers.add(number);
  });
}

function validateSlicePorts(raw: JsonObject, slice: EndpointSlice, report: Breaches): void {
  const rawPorts = itemsOf(raw, ["ports"]);
  const names = new Set<string>();
  slice.ports.forEach((port, i) => {
    const path: JsonPath = ["ports", i];
    report.word(rawPorts[i]?.protocol, { path: [...path, "protocol"], words: protocols });
    // No port at all is legal; the proxy passes over it.
    report.range(port.port, { path: [...path, "port"], ...optionalPort });
    const name = port.name ?? "";
    report.portName(name, [...path, "name"]);
    if (names.has(name)) {
      report.add([...path, "name"], `must be unique, but "${name}" is there twice`);
    }
    names.add(name);
  });
}

function itemsOf(raw: JsonObject, path: readonly string[]): readonly JsonObject[] {
  let value: unknown = raw;
  for (const step of path) value = isJsonObject(value) ? value[step] : undefined;
  return Array.isArray(value) ? value.map((item) => isJsonObject(item) ? item : {}) : [];
}

interface WordRule {
  readonly path: JsonPath;
  readonly words: readonly string[];
}

interface RangeRule {
  readonly path: JsonPath;
  readonly least: number;
  readonly most: number;
}

class Breaches {
  readonly list: Breach[] = [];

  add(path: JsonPath, rule: string): void {
    this.list.push({ path, rule });
  }

  meta(object: ApiObject, rules: { readonly namespaced: boolean; readonly longest: number }): void {
    this.#name(object.name, ["metadata", "name"], rules.longest);
    if (rules.namespaced) this.#name(object.namespace, ["metadata", "namespace"], 63);
  }

  address(text: string, path: JsonPath): void {
    if (canonicalIp(text) === undefined) this.add(path, `must be an IP address, not "${text}"`);
  }

  addresses(texts: readonly string[], path: JsonPath): void {
    texts.forEach((text, i) => this.address(text, [...path, i]));
  }

  cidrs(texts: readonly string[], path: JsonPath): void {
    texts.forEach((text, i) => {
      if (!parseCidr(text)) this.add([...path, i], `must be a CIDR, not "${text}"`);
    });
  }

  range(value: number, { path, least, most }: RangeRule): void {
    if (value < least || value > most) {
      this.add(path, `must be between ${least} and ${most}, not ${value}`);
    }
  }

  /** Absent is fine. */
  word(value: unknown, { path, words }: WordRule): void {
    if (typeof value !== "string" || value === "" || words.includes(value)) return;
    this.add(path, `must be one of ${words.join(", ")}, not "${value}"`);
  }

  portName(name: string, path: JsonPath): void {
    if (name !== "") this.#name(name, path, 63);
  }

  #name(name: string, path: JsonPath, longest: number): void {
    if (name === "") this.add(path, "is required");
    else if (name.length > longest) this.add(path, `must be no more than ${longest} characters`);
    else if (!(longest > 63 ? subdomain : label).test(name)) {
      this.add(path, `must be lower-case letters, digits and "-", not "${name}"`);
    }
  }
}
