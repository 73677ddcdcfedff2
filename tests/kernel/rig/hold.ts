/** Connections that stay open, to see that what happens to the rules leaves them alone. */
import type { Hold, Outcome } from "./agent_protocol.ts";
import { errnos, POLLERR, POLLIN, POLLOUT, setUsualOptions, SOCK_STREAM } from "./libc.ts";
import type { Networks } from "./networks.ts";

/** The open connections by number. */
export class HeldConnections {
  readonly #networks: Networks;
  readonly #open = new Map<number, number>();

  constructor(networks: Networks) {
    this.#networks = networks;
  }

  /** Opens the connection if it is new, else speaks on it; either way waits for the greeting. */
  hold(request: Hold, done: (outcome: Outcome) => void): void {
    const { libc, reactor } = this.#networks;
    const fd = this.#open.get(request.connection) ?? this.#connect(request);
    const finish = (outcome: Outcome) => {
      cancel();
      if (outcome.kind === "reached") {
        reactor.watch(fd, 0, () => {});
      } else {
        this.#open.delete(request.connection);
        reactor.close(fd);
      }
      done(outcome);
    };
    const cancel = reactor.after(request.timeoutMs, () => finish({ kind: "dropped" }));
    const onReady = (events: number) => {
      const error = libc.takeError(fd);
      if (error !== 0 || events & POLLERR) {
        return finish({ kind: "rejected", reason: `errno ${error}` });
      }
      if (!(events & POLLIN)) return reactor.watch(fd, POLLIN, onReady);
      const buffer = new Uint8Array(256);
      const { length } = libc.receive(fd, buffer);
      if (length <= 0) return finish({ kind: "rejected", reason: "closed by the peer" });
      const text = new TextDecoder().decode(buffer.subarray(0, length));
      const [endpoint, source] = text.trim().split(" ");
      finish({ kind: "reached", endpoint, source });
    };
    if (this.#open.has(request.connection)) libc.send(fd, new TextEncoder().encode("?"));
    const isNew = !this.#open.has(request.connection);
    this.#open.set(request.connection, fd);
    reactor.watch(fd, isNew ? POLLIN | POLLOUT : POLLIN, onReady);
  }

  /** Ends those that are open. */
  release(connections: readonly number[]): void {
    for (const connection of connections) {
      const fd = this.#open.get(connection);
      if (fd !== undefined) this.#networks.reactor.close(fd);
      this.#open.delete(connection);
    }
  }

  #bind(fd: number, to: string, port: number): void {
    const address = to.includes(":") ? "::" : "0.0.0.0";
    const result = this.#networks.libc.bind(fd, { address, port });
    if (result < 0) throw new Error(`Cannot connect from port ${port}: errno ${-result}`);
  }

  #connect(request: Hold): number {
    const kind = { type: SOCK_STREAM, protocol: 6 };
    const fd = this.#networks.socket(request.namespace, request.address, kind);
    setUsualOptions(this.#networks.libc, fd, request.address);
    if (request.localPort !== undefined) this.#bind(fd, request.address, request.localPort);
    const result = this.#networks.libc.connect(fd, request);
    if (result < 0 && result !== -errnos.EINPROGRESS) {
      throw new Error(`Cannot connect to "${request.address}": errno ${-result}`);
    }
    return fd;
  }
}
