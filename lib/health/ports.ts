/**
 * Ports on the node's addresses, as the health checks of one family open them. Both families want
 * the same number, and one socket on all addresses takes it for both: so there is one socket, and
 * who asks decides which family answers.
 */
import { type IpFamily } from "../base/ip_family.ts";
import { type Handler, listen, type Listener } from "./listener.ts";

/** Where the ports of one family listen. */
export interface Ports {
  /** Opens a port on all its addresses, or throws once none of them is open. */
  open(port: number, handler: Handler): Promise<AsyncDisposable>;
  /**
   * Takes the open ports to where the addresses are now, without a pause on those that stay. Returns
   * why, for each port that is not open on all of them; those are tried again by the next call.
   */
  follow(): Promise<ReadonlyMap<number, unknown>>;
}

interface ListedPort {
  readonly port: number;
  readonly handler: Handler;
  readonly listeners: Map<string, Listener>;
}

/** Ports on certain addresses of the node, which come and go. */
export class ListedPorts implements Ports {
  readonly #addresses: () => readonly string[];
  readonly #open = new Set<ListedPort>();
  #followed: readonly string[] | undefined;

  /** `addresses` tells where to listen from now on: the same array as long as nothing changed. */
  constructor(addresses: () => readonly string[]) {
    this.#addresses = addresses;
  }

  async open(port: number, handler: Handler): Promise<AsyncDisposable> {
    const opened: ListedPort = { port, handler, listeners: new Map() };
    const failure = this.#listen(opened);
    if (failure) {
      // Half of the addresses open would lie to half of the load balancers.
      await closeAll(opened);
      throw failure.error;
    }
    this.#open.add(opened);
    return {
      [Symbol.asyncDispose]: async () => {
        this.#open.delete(opened);
        await closeAll(opened);
      },
    };
  }

  async follow(): Promise<ReadonlyMap<number, unknown>> {
    const failures = new Map<number, unknown>();
    const addresses = this.#addresses();
    if (addresses === this.#followed) return failures;
    for (const opened of this.#open) {
      for (const [address, listener] of opened.listeners) {
        if (addresses.includes(address)) continue;
        opened.listeners.delete(address);
        await listener[Symbol.asyncDispose]();
      }
      const failure = this.#listen(opened);
      if (failure) failures.set(opened.port, failure.error);
    }
    if (failures.size === 0) this.#followed = addresses;
    return failures;
  }

  /** Listens on every address on which the port does not yet; the first failure, if there is one. */
  #listen({ port, handler, listeners }: ListedPort): { readonly error: unknown } | undefined {
    let failure: { readonly error: unknown } | undefined;
    for (const hostname of this.#addresses()) {
      if (listeners.has(hostname)) continue;
      try {
        listeners.set(hostname, listen({ hostname, port }, handler));
      } catch (error) {
        failure ??= { error };
      }
    }
    return failure;
  }
}

async function closeAll({ listeners }: ListedPort): Promise<void> {
  for (const listener of listeners.values()) await listener[Symbol.asyncDispose]();
}

interface SharedPort {
  readonly listener: Listener;
  readonly handlers: Map<IpFamily, Handler>;
}

/** Ports on all addresses of the node, whichever there will be, for both families. */
export class SharedPorts {
  readonly #ports = new Map<number, SharedPort>();

  /** The ports of one family; they close when it closes them and the other one does not have them. */
  of(family: IpFamily): Ports {
    return {
      open: (port, handler) => Promise.try(() => this.#open(port, { family, handler })),
      follow: () => Promise.resolve(new Map()),
    };
  }

  #open(
    port: number,
    { family, handler }: { readonly family: IpFamily; readonly handler: Handler },
  ): AsyncDisposable {
    const shared = this.#ports.get(port) ?? this.#listen(port);
    shared.handlers.set(family, handler);
    return {
      [Symbol.asyncDispose]: async () => {
        shared.handlers.delete(family);
        if (shared.handlers.size > 0) return;
        if (this.#ports.get(port) === shared) this.#ports.delete(port);
        await shared.listener[Symbol.asyncDispose]();
      },
    };
  }

  #listen(port: number): SharedPort {
    const handlers = new Map<IpFamily, Handler>();
    const listener = listen({ hostname: "::", port }, (request, client) => {
      // A family without the Service does not serve it.
      return handlers.get(client)?.(request) ?? new Response(null, { status: 503 });
    });
    const shared = { listener, handlers };
    this.#ports.set(port, shared);
    return shared;
  }
}
