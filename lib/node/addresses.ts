/**
 * The addresses of the node's interfaces, on which node ports answer. A list that cannot be had now,
 * such as one that changes while it is read, is asked for again: it is no reason to end.
 */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { RepeatedFailureLog } from "../base/repeated_failure.ts";
import { Errno } from "../kernel/errno.ts";
import type { Links } from "../kernel/links/links.ts";
import { hasErrno } from "../kernel/netlink/errors.ts";
import type { ClusterState } from "../trackers/cluster_state.ts";
import { ownAddresses } from "./own_addresses.ts";

/** Where addresses are read, and who is told of them. */
export interface AddressParts {
  readonly links: Links;
  readonly state: Pick<ClusterState, "setInterfaceAddresses">;
  /** Whether this host's own addresses are the node's while no Node tells them. */
  readonly standIn: boolean;
  /** A link that holds addresses of Services, which are no node's. */
  readonly ownLink?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** After a failure. */
const retryMs = 1_000;
/** A start does not wait for ever: what it does not know of the node's addresses comes later. */
const startTries = 10;
/** Reading takes no more than a tenth of the time, however many addresses come and go. */
const restPerRead = 9;

/**
 * Tells the state all addresses that there are at the start. Waits a while for a list that changes all
 * the time; throws when the kernel refuses.
 */
export async function readAddresses(parts: AddressParts, signal: AbortSignal): Promise<void> {
  const { clock, logger } = parts;
  for (let tries = 1; !signal.aborted; tries++) {
    try {
      return read(parts);
    } catch (error) {
      if (!hasErrno(error, Errno.EINTR)) throw error;
      if (tries === startTries) {
        return logger.error("Going on without the addresses of this node's interfaces", error);
      }
    }
    await clock.sleep(retryMs, signal);
  }
}

/** Tells the state whenever addresses come or go, until the signal aborts. */
export async function followAddresses(parts: AddressParts, signal: AbortSignal): Promise<void> {
  const { clock, links, logger } = parts;
  const failures = new RepeatedFailureLog(logger, clock);
  while (!signal.aborted) {
    try {
      for await (const _ of links.watchAddresses(signal)) {
        const startedAt = clock.monotonic();
        read(parts);
        failures.clear(failureKey);
        await clock.sleep(restPerRead * (clock.monotonic() - startedAt), signal);
      }
    } catch (error) {
      const message = "Cannot follow the addresses of this node's interfaces; trying again in 1 s";
      failures.report({ key: failureKey, message, error });
    }
    await clock.sleep(retryMs, signal);
  }
}

const failureKey = "addresses";

function read({ links, ownLink, standIn, state }: AddressParts): void {
  const addresses = links.addresses().filter(({ linkName }) => linkName !== ownLink);
  const standIns = standIn ? ownAddresses({ addresses, routes: links.routes() }) : [];
  state.setInterfaceAddresses(addresses.map(({ ip }) => ip), standIns);
}
