/** A client that goes on sending datagrams from one port, to see whether any gets no answer. */
import type { Flow, FlowReport } from "./agent_protocol.ts";
import { POLLIN, setUsualOptions, SOCK_DGRAM } from "./libc.ts";
import type { Networks } from "./networks.ts";

/** One running flow. */
export class RunningFlow {
  readonly #networks: Networks;
  readonly #request: Flow;
  readonly #fd: number;
  readonly #endpoints = new Set<string>();
  #sent = 0;
  #answered = 0;
  #refused = 0;
  #stopping = false;

  constructor(networks: Networks, request: Flow) {
    const { libc, reactor } = networks;
    this.#networks = networks;
    this.#request = request;
    this.#fd = networks.socket(request.namespace, request.address, {
      type: SOCK_DGRAM,
      protocol: 17,
    });
    setUsualOptions(libc, this.#fd, request.address);
    libc.connect(this.#fd, request);
    reactor.watch(this.#fd, POLLIN, () => this.#read());
    this.#send();
  }

  /** Sends no more, waits for the last answers, and tells. */
  stop(graceMs: number, done: (report: FlowReport) => void): void {
    this.#stopping = true;
    this.#networks.reactor.after(graceMs, () => {
      this.#networks.reactor.close(this.#fd);
      done({
        sent: this.#sent,
        answered: this.#answered,
        refused: this.#refused,
        endpoints: [...this.#endpoints].toSorted(),
      });
    });
  }

  #send(): void {
    if (this.#stopping) return;
    this.#sent++;
    // An error that came by ICMP is told by the next call, which then sends nothing.
    if (this.#networks.libc.send(this.#fd, new TextEncoder().encode("?")) < 0) this.#refused++;
    this.#networks.reactor.after(this.#request.everyMs, () => this.#send());
  }

  #read(): void {
    const { libc } = this.#networks;
    libc.takeError(this.#fd);
    const buffer = new Uint8Array(256);
    for (;;) {
      const { length } = libc.receive(this.#fd, buffer);
      if (length <= 0) return;
      this.#answered++;
      this.#endpoints.add(new TextDecoder().decode(buffer.subarray(0, length)).split(" ")[0]);
    }
  }
}
