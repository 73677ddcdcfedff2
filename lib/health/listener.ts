/** The one place that opens HTTP listeners. */
import { untilAborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { Logger } from "../base/log.ts";

export type Handler = (request: Request) => Response | Promise<Response>;

/** A handler that is told which family the client came by. */
export type FamilyHandler = (request: Request, client: IpFamily) => Response | Promise<Response>;

export interface ListenAddress {
  /** An address without brackets; an unspecified one serves both families where the host has both. */
  readonly hostname: string;
  readonly port: number;
}

/** A running server. Closing it ends its connections at once. */
export interface Listener extends AsyncDisposable {
  readonly port: number;
  /** Resolves when it stopped by itself or was closed. */
  readonly finished: Promise<void>;
}

/** Opens a listener, or throws why it cannot be opened. */
export function listen(address: ListenAddress, handler: FamilyHandler): Listener {
  const stop = new AbortController();
  const server = serveAny(address, { handler, signal: stop.signal });
  return {
    port: server.addr.port,
    finished: server.finished,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await server.finished;
    },
  };
}

interface ServeOptions {
  readonly handler: FamilyHandler;
  readonly signal: AbortSignal;
}

function serveAny(
  { hostname, port }: ListenAddress,
  { handler, signal }: ServeOptions,
): Deno.HttpServer<Deno.NetAddr> {
  const serve = (on: string) =>
    Deno.serve(
      { hostname: on, port, signal, onListen: () => {}, onError: internalError },
      (request, { remoteAddr }) => handler(request, familyOf(remoteAddr.hostname)),
    );
  if (hostname !== "0.0.0.0" && hostname !== "::") return serve(hostname);
  try {
    return serve("::");
  } catch (error) {
    // No IPv6 in this kernel; any other failure is the same on 0.0.0.0 and is reported from there.
    if (error instanceof Deno.errors.AddrInUse) throw error;
    return serve("0.0.0.0");
  }
}

/** An IPv4 client of an IPv6 socket is `::ffff:192.168.0.1`. */
function familyOf(address: string): IpFamily {
  return address.includes(".") ? "IPv4" : "IPv6";
}

function internalError(): Response {
  return new Response("Internal Server Error\n", { status: 500 });
}

export interface KeepListeningOptions {
  /** What is served, for messages: `healthz server`. */
  readonly name: string;
  readonly address: ListenAddress;
  readonly handler: Handler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Give up at the first failure, by throwing, instead of trying again. */
  readonly hardFail: boolean;
}

/** Between two tries to open a listener, as upstream waits. */
const retryMs = 5000;

/** Serves until the signal aborts, opening the listener again whenever it fails. */
export async function keepListening(options: KeepListeningOptions): Promise<void> {
  const { name, address, handler, clock, logger, signal, hardFail } = options;
  while (!signal.aborted) {
    try {
      await using listener = listen(address, handler);
      logger.verbose(3, `Serving ${name}`, { address: address.hostname, port: listener.port });
      await Promise.race([listener.finished, untilAborted(signal)]);
      if (signal.aborted) return;
      throw new Error("the listener closed");
    } catch (cause) {
      const error = new Error(
        `Cannot serve the ${name} on "${address.hostname}" port ${address.port}: ${
          cause instanceof Error ? cause.message : cause
        }`,
        { cause },
      );
      if (hardFail) throw error;
      logger.error(`Serving the ${name} failed; trying again in 5 s`, error);
    }
    await clock.sleep(retryMs, signal);
  }
}
