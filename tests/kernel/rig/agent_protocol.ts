/** What the test asks of the agent and what the agent answers: one JSON object a line. */
import type { Protocol } from "../../../lib/base/protocol.ts";

/** An echo server: it says its name and the source address and port it saw, and stays connected. */
export interface Serve {
  readonly kind: "serve";
  readonly namespace: string;
  readonly name: string;
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
}

/** A new connection (TCP, SCTP) or datagram (UDP) from a namespace. */
export interface Probe {
  readonly kind: "probe";
  readonly namespace: string;
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
  /** Sent from this address; else the kernel chooses. */
  readonly source?: string;
  /** From this port, of TCP and UDP; else the kernel chooses. */
  readonly localPort?: number;
  /** No answer for so long is `dropped`. */
  readonly timeoutMs: number;
}

/** New connections at a steady rate from one namespace to one address until `stop-load`. */
export interface Load {
  readonly kind: "load";
  readonly load: number;
  readonly namespace: string;
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
  readonly perSecond: number;
  readonly timeoutMs: number;
}

/** Ends a load; its answer is the `LoadReport`, once the last connection has its outcome. */
export interface StopLoad {
  readonly kind: "stop-load";
  readonly load: number;
}

/** A datagram from one port every so often until `stop-flow`. */
export interface Flow {
  readonly kind: "flow";
  readonly flow: number;
  readonly namespace: string;
  readonly address: string;
  readonly port: number;
  readonly everyMs: number;
}

/** Ends a flow; its answer is the `FlowReport`, once the time for the last answers is over. */
export interface StopFlow {
  readonly kind: "stop-flow";
  readonly flow: number;
  readonly graceMs: number;
}

/** Opens a TCP connection that stays, or says over an open one another line and waits for its echo. */
export interface Hold {
  readonly kind: "hold";
  readonly connection: number;
  readonly namespace: string;
  readonly address: string;
  readonly port: number;
  /** The client's own; the kernel chooses where it is absent. */
  readonly localPort?: number;
  readonly timeoutMs: number;
}

/** The client ends these connections as clients do; one that is not open is fine. */
export interface Release {
  readonly kind: "release";
  readonly connections: readonly number[];
}

export type AgentRequest = Serve | Probe | Load | StopLoad | Flow | StopFlow | Hold | Release;

/** What became of one packet, as the sender sees it. */
export type Outcome =
  | { readonly kind: "reached"; readonly endpoint: string; readonly source: string }
  | { readonly kind: "rejected"; readonly reason: string }
  | { readonly kind: "dropped" };

/** What became of all connections of a load. */
export interface LoadReport {
  readonly attempts: number;
  /** Connections by the endpoint that answered. */
  readonly reached: Readonly<Record<string, number>>;
  /** Failed connections by reason. */
  readonly failed: Readonly<Record<string, number>>;
  /** Milliseconds from connect to the greeting. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

/** What became of all datagrams of a flow. */
export interface FlowReport {
  readonly sent: number;
  readonly answered: number;
  /** Those in whose place an ICMP error was told. */
  readonly refused: number;
  readonly endpoints: readonly string[];
}

export type AgentAnswer =
  | { readonly kind: "done" }
  | { readonly kind: "outcome"; readonly outcome: Outcome }
  | { readonly kind: "load-report"; readonly report: LoadReport }
  | { readonly kind: "flow-report"; readonly report: FlowReport }
  | { readonly kind: "failed"; readonly message: string };

/** The lines on the wire. */
export type RequestLine = { readonly id: number; readonly request: AgentRequest };
export type AnswerLine = { readonly id: number; readonly answer: AgentAnswer };
