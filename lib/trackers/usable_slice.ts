/** Makes an EndpointSlice fit for use: canonical addresses of one family, real ports, nothing else. */
import { canonicalIp, familyOfCanonicalIp } from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { EndpointSlice, EndpointSlicePort, SliceEndpoint } from "../kube/objects.ts";
import { compareAddresses } from "../snapshot/endpoint_order.ts";
import type { TrackerNotice } from "./notice_book.ts";
import { isPort } from "./service_record.ts";

/** Where each of many ports would sort the same endpoints, they are sorted once. */
const endpointsToSort = 1_000;

/** How notices name an EndpointSlice. */
export function sliceSubject(namespace: string, name: string): string {
  return `EndpointSlice ${namespace}/${name}`;
}

/**
 * The slice itself when all of it can be used, which is nearly always and costs no memory; else a
 * copy without what cannot be, each topic said. Its address type is the family's.
 */
export function usableSlice(
  slice: EndpointSlice,
  options: { readonly family: IpFamily; readonly notice: (notice: TrackerNotice) => void },
): EndpointSlice {
  const subject = sliceSubject(slice.namespace, slice.name);
  const say = (topic: string, what: string) =>
    options.notice({ subject, topic, message: `${subject}: ${what}` });
  const ports = slice.ports.every(isUsablePort) ? slice.ports : slice.ports.filter((port) => {
    if (isUsablePort(port)) return true;
    say(
      "port",
      `its port "${port.name ?? ""}" has no name or no number in 1-65535, so it is ignored`,
    );
    return false;
  });
  const usable = usableEndpoints(slice.endpoints, options.family, (address) =>
    say(
      "address",
      address === ""
        ? "an endpoint has no address, so it is ignored"
        : `its endpoint "${address}" is no ${options.family} address, so it is ignored`,
    ));
  const endpoints = ports.length * usable.length > endpointsToSort ? inOrder(usable) : usable;
  if (ports === slice.ports && endpoints === slice.endpoints) return slice;
  return { ...slice, ports, endpoints };
}

/** Those of one address stay in the order in which they are. */
function inOrder(endpoints: readonly SliceEndpoint[]): readonly SliceEndpoint[] {
  return endpoints.toSorted((a, b) => compareAddresses(a.address, b.address));
}

function isUsablePort(port: EndpointSlicePort): boolean {
  return port.name !== null && isPort(port.port);
}

function usableEndpoints(
  endpoints: readonly SliceEndpoint[],
  family: IpFamily,
  refuse: (address: string) => void,
): readonly SliceEndpoint[] {
  let rewritten: SliceEndpoint[] | undefined;
  for (const [i, endpoint] of endpoints.entries()) {
    const ip = canonicalIp(endpoint.address);
    const usable = ip !== undefined && familyOfCanonicalIp(ip) === family;
    if (usable && ip === endpoint.address) {
      rewritten?.push(endpoint);
      continue;
    }
    rewritten ??= endpoints.slice(0, i);
    if (usable) rewritten.push({ ...endpoint, address: ip });
    else refuse(endpoint.address);
  }
  return rewritten ?? endpoints;
}
