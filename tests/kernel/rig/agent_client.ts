/** The test's side of the agent. */
import { TextLineStream } from "./lines.ts";
import type {
  AgentAnswer,
  AgentRequest,
  AnswerLine,
  Flow,
  FlowReport,
  Hold,
  Load,
  LoadReport,
  Outcome,
  Probe,
  Serve,
} from "./agent_protocol.ts";

/** A running agent. Any number of requests may be under way at once. */
export class Agent implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #pending = new Map<number, PromiseWithResolvers<AgentAnswer>>();
  readonly #reading: Promise<void>;
  #nextId = 1;

  private constructor(process: Deno.ChildProcess) {
    this.#process = process;
    this.#writer = process.stdin.getWriter();
    this.#reading = this.#read();
  }

  static start(): Agent {
    const script = new URL("./agent.ts", import.meta.url).pathname;
    return new Agent(
      new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "-A", "--no-check", script],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn(),
    );
  }

  async serve(server: Omit<Serve, "kind">): Promise<void> {
    await this.#ask({ kind: "serve", ...server });
  }

  async probe(probe: Omit<Probe, "kind">): Promise<Outcome> {
    return outcomeOf(await this.#ask({ kind: "probe", ...probe }));
  }

  /** Opens the numbered connection, or speaks over it when it is open. */
  async hold(hold: Omit<Hold, "kind">): Promise<Outcome> {
    return outcomeOf(await this.#ask({ kind: "hold", ...hold }));
  }

  /** Ends numbered connections. */
  async release(connections: readonly number[]): Promise<void> {
    await this.#ask({ kind: "release", connections });
  }

  /** Starts a load; the answer stops it and tells what became of its connections. */
  async startLoad(load: Omit<Load, "kind" | "load">): Promise<() => Promise<LoadReport>> {
    const number = this.#nextId;
    await this.#ask({ kind: "load", load: number, ...load });
    return async () => {
      const answer = await this.#ask({ kind: "stop-load", load: number });
      if (answer.kind === "load-report") return answer.report;
      throw new TypeError(`Cannot stop a load: the agent answered "${answer.kind}"`);
    };
  }

  /** Starts a flow; the answer stops it, waits for the last answers, and tells what became of its datagrams. */
  async startFlow(
    flow: Omit<Flow, "kind" | "flow">,
    { graceMs }: { readonly graceMs: number },
  ): Promise<() => Promise<FlowReport>> {
    const number = this.#nextId;
    await this.#ask({ kind: "flow", flow: number, ...flow });
    return async () => {
      const answer = await this.#ask({ kind: "stop-flow", flow: number, graceMs });
      if (answer.kind === "flow-report") return answer.report;
      throw new TypeError(`Cannot stop a flow: the agent answered "${answer.kind}"`);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => undefined);
    await this.#process.status;
    await this.#reading;
  }

  async #ask(request: AgentRequest): Promise<AgentAnswer> {
    const id = this.#nextId++;
    const pending = Promise.withResolvers<AgentAnswer>();
    this.#pending.set(id, pending);
    await this.#writer.write(new TextEncoder().encode(`${JSON.stringify({ id, request })}\n`));
    const answer = await pending.promise;
    if (answer.kind === "failed") throw new Error(answer.message);
    return answer;
  }

  async #read(): Promise<void> {
    for await (const line of this.#process.stdout.pipeThrough(new TextLineStream())) {
      const { id, answer }: AnswerLine = JSON.parse(line);
      this.#pending.get(id)?.resolve(answer);
      this.#pending.delete(id);
    }
    for (const pending of this.#pending.values()) {
      pending.resolve({ kind: "failed", message: "Cannot ask the rig's agent: it ended" });
    }
  }
}

function outcomeOf(answer: AgentAnswer): Outcome {
  if (answer.kind === "outcome") return answer.outcome;
  throw new TypeError(`Cannot read an outcome: the agent answered "${answer.kind}"`);
}
