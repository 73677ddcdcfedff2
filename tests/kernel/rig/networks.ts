/** Sockets in any named network namespace, opened from one thread. */
import type { Libc, SocketKind } from "./libc.ts";
import type { Reactor } from "./reactor.ts";

/**
 * A socket belongs to the namespace its maker was in, so the one thread of the agent enters the
 * namespace, opens the socket and returns: no process per namespace is needed.
 */
export class Networks {
  readonly libc: Libc;
  readonly reactor: Reactor;
  readonly #own: number;
  readonly #entered = new Map<string, number>();
  #rawPort = 20_000;

  constructor(libc: Libc, reactor: Reactor) {
    this.libc = libc;
    this.reactor = reactor;
    this.#own = mustOpen(libc, "/proc/thread-self/ns/net");
  }

  /** A non-blocking socket in the namespace, of the family of the address. */
  socket(namespace: string, address: string, kind: SocketKind): number {
    let target = this.#entered.get(namespace);
    if (target === undefined) {
      target = mustOpen(this.libc, `/run/netns/${namespace}`);
      this.#entered.set(namespace, target);
    }
    this.#enter(target, namespace);
    try {
      const fd = this.libc.socket(address, kind);
      if (fd < 0) throw new Error(`Cannot open a socket in "${namespace}": errno ${-fd}`);
      return fd;
    } finally {
      this.#enter(this.#own, "own");
    }
  }

  /** A source port for a raw packet that no recent attempt used. */
  nextRawPort(): number {
    this.#rawPort = this.#rawPort >= 60_000 ? 20_000 : this.#rawPort + 1;
    return this.#rawPort;
  }

  #enter(fd: number, name: string): void {
    const result = this.libc.enterNetwork(fd);
    if (result < 0) throw new Error(`Cannot enter network namespace "${name}": errno ${-result}`);
  }
}

function mustOpen(libc: Libc, path: string): number {
  const fd = libc.openFile(path);
  if (fd < 0) throw new Error(`Cannot open "${path}": errno ${-fd}`);
  return fd;
}
