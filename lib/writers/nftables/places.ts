/**
 * Which place each endpoint has in the lists of its service port. Any order serves packets alike, so
 * whoever stays keeps its place: a newcomer takes a free one, and where one is left over the last
 * endpoint moves there. One endpoint that goes costs two elements a frontend, not all behind it.
 */
import type { Endpoint, ServicePort } from "../../snapshot/snapshot.ts";

type Place = Pick<Endpoint, "ip" | "port">;

/** What was in each place. */
export type Places = readonly (Place | undefined)[];

/** The lists of a service port as they were. */
export interface PlacesOfLists {
  readonly clusterEndpoints: Places;
  readonly localEndpoints: Places;
}

/** The service port with its lists in the order of their places; itself where that is its own order. */
export function inPlaces(servicePort: ServicePort, before: PlacesOfLists): ServicePort {
  // Chains of affinity are written as a whole, and are easier to read in order.
  if (servicePort.affinitySeconds > 0) return servicePort;
  const clusterEndpoints = keepPlaces(servicePort.clusterEndpoints, before.clusterEndpoints);
  const localEndpoints = keepPlaces(servicePort.localEndpoints, before.localEndpoints);
  const isInOrder = clusterEndpoints === servicePort.clusterEndpoints &&
    localEndpoints === servicePort.localEndpoints;
  return isInOrder ? servicePort : { ...servicePort, clusterEndpoints, localEndpoints };
}

/** Whether both are the same address and port. */
export function isSame(a: Place | undefined, b: Place | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.port === b.port && a.ip === b.ip);
}

/** The endpoints, each in its place of before if it had one; the same list where its order is that. */
function keepPlaces(endpoints: readonly Endpoint[], before: Places): readonly Endpoint[] {
  if (before.length === 0 || isBeginningOf(endpoints, before)) return endpoints;
  const count = endpoints.length;
  const isAtHome = (place: number) => place < count && isSame(endpoints[place], before[place]);
  // Of a thousand endpoints most are where they were: the others alone are looked for, as objects first
  // and then by name.
  const homeless = new Set(endpoints.filter((_, place) => !isAtHome(place)));
  const result: (Endpoint | undefined)[] = new Array(count);
  const renewed: number[] = [];
  for (let place = 0; place < before.length; place++) {
    const former = before[place];
    if (isAtHome(place)) {
      result[place] = endpoints[place];
      continue;
    }
    const stays = homeless.delete(former as Endpoint);
    if (place < count && stays) result[place] = former as Endpoint;
    else if (stays) homeless.add(former as Endpoint);
    else if (place < count && former) renewed.push(place);
  }
  const byName = new Map([...homeless].map((endpoint) => [nameOf(endpoint), endpoint]));
  for (const place of renewed) {
    const former = before[place];
    const endpoint = former && byName.get(nameOf(former));
    if (endpoint && homeless.delete(endpoint)) result[place] = endpoint;
  }
  const rest = homeless.values();
  const placed = endpoints.map((endpoint, place) => result[place] ?? rest.next().value ?? endpoint);
  return isBeginningOf(endpoints, placed) ? endpoints : placed;
}

function isBeginningOf(endpoints: readonly Endpoint[], places: Places): boolean {
  return endpoints.length <= places.length &&
    endpoints.every((endpoint, place) => isSame(endpoint, places[place]));
}

function nameOf({ ip, port }: Place): string {
  return `${ip} ${port}`;
}
