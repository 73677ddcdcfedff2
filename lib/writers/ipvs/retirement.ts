/**
 * Destinations that get no new connections and go when the last one has ended. What is half closed or
 * has just ended counts as inactive: it may wait for a while, and no longer.
 */
import type { Clock } from "../../base/clock.ts";
import type { Ipvs, IpvsChange, IpvsFrontend } from "../../kernel/ipvs/ipvs.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import { endpointKey } from "./contribution.ts";
import type { Held } from "./held.ts";
import type { Retiring } from "./plan.ts";

/** Without an active connection for so long, a destination goes with those that are inactive. */
const patienceMs = 60_000;

/** The destinations of one server that wait. */
interface WaitingServer {
  readonly server: IpvsFrontend;
  /** Since when each has no active connection; undefined while it has one. By address and port. */
  readonly idleSince: Map<string, number | undefined>;
}

export class Retirement {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, WaitingServer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Nobody waits. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** These wait from now on, unless they do already. */
  add(retiring: readonly Retiring[]): void {
    for (const { destination, server } of retiring) {
      const name = frontendText(server);
      const waiting = this.#waiting.get(name) ?? { server, idleSince: new Map() };
      this.#waiting.set(name, waiting);
      const key = endpointKey(destination);
      if (!waiting.idleSince.has(key)) waiting.idleSince.set(key, undefined);
    }
  }

  /**
   * What may go now, of these servers or of all. Forgets whatever is wanted again, is gone, or may go:
   * a deletion that fails is found again when everything is compared.
   */
  due(ipvs: Ipvs, { held, of }: {
    readonly held: Held;
    readonly of?: readonly Retiring[];
  }): readonly IpvsChange[] {
    const names = of ? new Set(of.map(({ server }) => frontendText(server))) : this.#waiting.keys();
    const changes: IpvsChange[] = [];
    for (const name of [...names]) {
      const waiting = this.#waiting.get(name);
      if (!waiting) continue;
      changes.push(...this.#dueOf(waiting, ipvs, held));
      if (waiting.idleSince.size === 0) this.#waiting.delete(name);
    }
    return changes;
  }

  #dueOf({ idleSince, server }: WaitingServer, ipvs: Ipvs, held: Held): readonly IpvsChange[] {
    const now = this.#clock.monotonic();
    const known = held.servers.get(frontendText(server));
    const there = new Map(
      (ipvs.find(server)?.destinations ?? []).map((each) => [endpointKey(each), each]),
    );
    const changes: IpvsChange[] = [];
    for (const [key, since] of [...idleSince]) {
      const destination = there.get(key);
      const isWanted = (known?.destinations.get(key)?.weight ?? 0) > 0;
      if (!destination || isWanted) {
        idleSince.delete(key);
        continue;
      }
      const { activeConnections, inactiveConnections } = destination;
      if (activeConnections > 0) {
        idleSince.set(key, undefined);
        continue;
      }
      const idle = since ?? now;
      if (inactiveConnections > 0 && now - idle < patienceMs) {
        idleSince.set(key, idle);
        continue;
      }
      idleSince.delete(key);
      changes.push({ kind: "delete-destination", server, destination });
    }
    return changes;
  }
}
