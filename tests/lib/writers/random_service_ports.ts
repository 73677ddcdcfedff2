/** Service ports at random for the tests of all modes: neighbours share addresses of pods, and differ in shape. */
import fc from "fast-check";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { Fate, ServicePort, ServicePortKey } from "../../../lib/snapshot/snapshot.ts";
import { addresses, endpoints, servicePort } from "./nftables/samples.ts";

/** A service port by a few numbers. */
export interface Shape {
  readonly number: number;
  readonly pods: readonly number[];
  readonly isExternal: boolean;
  readonly isExternalLocal: boolean;
  readonly isInternalLocal: boolean;
  readonly affinitySeconds: number;
  readonly ranges: number;
  readonly protocol: "TCP" | "UDP" | "SCTP";
}

/** The number of a service port. */
export const numbers: fc.Arbitrary<number> = fc.integer({ min: 1, max: 6 });

const shapes: fc.Arbitrary<Shape> = fc.record({
  number: numbers,
  pods: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 6 }),
  isExternal: fc.boolean(),
  isExternalLocal: fc.boolean(),
  isInternalLocal: fc.boolean(),
  affinitySeconds: fc.constantFrom(0, 0, 60, 90),
  ranges: fc.constantFrom(0, 0, 1, 3, 60),
  protocol: fc.constantFrom("TCP", "TCP", "UDP", "SCTP"),
});

/** What one change of the cluster brings: other service ports each. */
export const shapeLists: fc.Arbitrary<readonly Shape[]> = fc.uniqueArray(shapes, {
  maxLength: 4,
  selector: ({ number }) => number,
});

/** One key for all protocols, so that a Service changes its protocol too. */
export function keyOf(number: number): ServicePortKey {
  return `ns/s${number}:p80/TCP`;
}

/** As a snapshot gives it: no list has endpoints that no policy asks for. */
export function servicePortOf(family: IpFamily, shape: Shape): ServicePort {
  const { clusterIP, external, loadBalancer } = addresses[family];
  const { number, pods, ranges } = shape;
  // Even pods are on this node.
  const all = endpoints(family, ...pods.toSorted().map((pod) => [pod % 2 ? 9 : 1, pod] as const));
  const here = all.filter(({ isLocal }) => isLocal);
  const usesAll = !shape.isInternalLocal || shape.isExternal;
  const usesLocal = shape.isInternalLocal || (shape.isExternalLocal && shape.isExternal);
  const fate = (isLocal: boolean): Fate =>
    all.length === 0 ? "reject" : isLocal && here.length === 0 ? "drop" : "forward";
  return {
    ...servicePort({
      name: `s${number}`,
      protocol: shape.protocol,
      clusterIP: clusterIP(number),
      externalIPs: shape.isExternal ? [external(number)] : [],
      loadBalancerVIPs: shape.isExternal ? [loadBalancer(number), loadBalancer(100 + number)] : [],
      nodePort: shape.isExternal ? 30_000 + number : 0,
      affinitySeconds: shape.affinitySeconds,
      sourceRanges: Array.from(
        { length: ranges },
        (_, index) => family === "IPv4" ? `10.${index}.0.0/16` : `fd00:${index + 1}::/32`,
      ),
      internalPolicyLocal: shape.isInternalLocal,
      externalPolicyLocal: shape.isExternalLocal,
      internal: fate(shape.isInternalLocal),
      external: fate(shape.isExternalLocal),
      hasEndpoints: all.length > 0,
      clusterEndpoints: usesAll ? all : [],
      localEndpoints: usesLocal ? here : [],
      nodeEndpoints: here,
    }),
    key: keyOf(number),
  };
}
