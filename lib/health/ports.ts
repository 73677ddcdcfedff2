/**
 * Ports on the node's addresses, as the health checks of one family open them. Both families want
 * the same number, and one socket on all addresses takes it for both: so there is one socket, and
 * who asks decides which family answers.
 */
import { type IpFamily } from "../base/ip_family.ts";
import { type Handler, listen, type Listener } from "./listener.ts";

/** Opens a port on all its addresses or throws and leaves none open. */
export interface Ports {
  open(port: number, handler: Handler): AsyncDisposable;
}

/** Ports on certain addresses of the node. */
export class ListedPorts implements Ports {
  readonly #addresses: readonly string[];

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses;
  }

  open(port: number, handler: Handler): AsyncDisposable {
    const listeners: Listener[] = [];
    const close = async () => {
      for (const listener of listeners) await listener[Symbol.asyncDispose]();
    };
    try {
      for (const hostname of this.#addresses) listeners.push(listen({ hostname, port }, handler));
    } catch (error) {
      // Half of the addresses open would lie to half of the load balancers.
      void close();
      throw error;
    }
    return { [Symbol.asyncDispose]: close };
  }
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
    return { open: (port, handler) => this.#open(port, { family, handler }) };
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
