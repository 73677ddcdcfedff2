/**
 * The process that owns the rig's sockets: requests on stdin, answers on stdout, one JSON object a
 * line. It ends when its stdin does, so it never outlives the test.
 */
import type { AgentAnswer, AgentRequest, Probe, RequestLine } from "./agent_protocol.ts";
import { attempt } from "./attempts.ts";
import { serve } from "./echo.ts";
import { RunningFlow } from "./flow.ts";
import { HeldConnections } from "./hold.ts";
import { openLibc, POLLIN, SOCK_RAW } from "./libc.ts";
import { RunningLoad } from "./load.ts";
import { Networks } from "./networks.ts";
import { Reactor } from "./reactor.ts";
import { socketKind } from "./attempts.ts";

type Reply = (answer: AgentAnswer) => void;

/** Everything that the agent keeps open. */
class Agent {
  readonly #networks: Networks;
  readonly #held: HeldConnections;
  readonly #loads = new Map<number, RunningLoad>();
  readonly #flows = new Map<number, RunningFlow>();
  /** Raw probes that wait for another to the same address from the same namespace. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(networks: Networks) {
    this.#networks = networks;
    this.#held = new HeldConnections(networks);
  }

  handle(request: AgentRequest, reply: Reply): void {
    switch (request.kind) {
      case "serve":
        serve(this.#networks, request);
        return reply({ kind: "done" });
      case "probe":
        return this.#probe(request, reply);
      case "load":
        this.#loads.set(request.load, new RunningLoad(this.#networks, request));
        return reply({ kind: "done" });
      case "stop-load": {
        const load = this.#loads.get(request.load);
        if (!load) throw new Error(`Cannot stop load "${request.load}": it does not run`);
        this.#loads.delete(request.load);
        return load.stop((report) => reply({ kind: "load-report", report }));
      }
      case "flow":
        this.#flows.set(request.flow, new RunningFlow(this.#networks, request));
        return reply({ kind: "done" });
      case "stop-flow": {
        const flow = this.#flows.get(request.flow);
        if (!flow) throw new Error(`Cannot stop flow "${request.flow}": it does not run`);
        this.#flows.delete(request.flow);
        return flow.stop(request.graceMs, (report) => reply({ kind: "flow-report", report }));
      }
      case "hold":
        return this.#held.hold(request, (outcome) => reply({ kind: "outcome", outcome }));
      case "release":
        this.#held.release(request.connections);
        return reply({ kind: "done" });
    }
  }

  #probe(request: Probe, reply: Reply): void {
    const raw = socketKind(request.protocol).type === SOCK_RAW;
    if (!raw) {
      return attempt(this.#networks, request, (outcome) => reply({ kind: "outcome", outcome }));
    }
    const lane = `${request.namespace} ${request.address}`;
    const start = () =>
      attempt(this.#networks, request, (outcome) => {
        reply({ kind: "outcome", outcome });
        const next = this.#waiting.get(lane)?.shift();
        if (next) next();
        else this.#waiting.delete(lane);
      });
    const queue = this.#waiting.get(lane);
    if (queue) return void queue.push(start);
    this.#waiting.set(lane, []);
    start();
  }
}

function main(): void {
  const libc = openLibc();
  const reactor = new Reactor(libc);
  const agent = new Agent(new Networks(libc, reactor));
  const write = (id: number, answer: AgentAnswer) => writeLine(JSON.stringify({ id, answer }));
  const onLine = (line: string) => {
    const { id, request }: RequestLine = JSON.parse(line);
    try {
      agent.handle(request, (answer) => write(id, answer));
    } catch (error) {
      write(id, {
        kind: "failed",
        message: error instanceof Error ? error.message : String(error),
      });
    }
  };
  const decoder = new TextDecoder();
  let rest = "";
  reactor.watch(0, POLLIN, () => {
    const buffer = new Uint8Array(65536);
    const length = libc.read(0, buffer);
    if (length <= 0) return reactor.stop();
    const lines = (rest + decoder.decode(buffer.subarray(0, length), { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
  });
  reactor.run();
}

function writeLine(line: string): void {
  let bytes = new TextEncoder().encode(`${line}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

main();
