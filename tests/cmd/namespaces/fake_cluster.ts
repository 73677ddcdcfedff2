/** The `namespaces` commands beside a fake apiserver, as a person or a script runs them. */
import type { CommandEntry, Surroundings } from "../../../cmd/command.ts";
import { dispatch } from "../../../cmd/dispatch.ts";
import { createListCommand } from "../../../cmd/namespaces/list.ts";
import { createOptInCommand } from "../../../cmd/namespaces/opt_in.ts";
import { createOptOutCommand } from "../../../cmd/namespaces/opt_out.ts";
import { FakeApiserver, type SeenRequest } from "../../fakes/apiserver.ts";
import { createTestClient } from "../../fakes/kube_client.ts";

export const label = "networking.k8s.io/kube-proxy";

/** Namespaces by name with the value of their label, and what was written. */
export class FakeCluster {
  readonly written: SeenRequest[] = [];
  readonly #labels: ReadonlyMap<string, string | undefined>;
  /** Names whose writes are refused with this status. */
  refuses: ReadonlyMap<string, number> = new Map();
  /** Answers by path, before all others. */
  answers: Readonly<Record<string, unknown>> = {};

  constructor(labels: Readonly<Record<string, string | undefined>>) {
    this.#labels = new Map(Object.entries(labels));
  }

  answer(request: SeenRequest): Response | undefined {
    const name = /^\/api\/v1\/namespaces(?:\/([^/]*))?$/.exec(request.path)?.[1];
    const given = this.answers[request.path];
    if (typeof given === "number") return Response.json({ code: given }, { status: given });
    if (given !== undefined) return Response.json(given);
    if (request.path === "/api/v1/namespaces") {
      const wanted = [...this.#labels].filter(([, value]) =>
        request.query.get("labelSelector") !== label || value !== undefined
      );
      return Response.json({ items: wanted.map(([name]) => this.#object(name)) });
    }
    if (name === undefined) return undefined;
    if (!this.#labels.has(name)) return Response.json({ code: 404 }, { status: 404 });
    if (request.method === "PATCH") {
      const status = this.refuses.get(name);
      if (status !== undefined) return Response.json({ code: status }, { status });
      this.written.push(request);
    }
    return Response.json(this.#object(name));
  }

  #object(name: string) {
    const value = this.#labels.get(name);
    const labels = value === undefined ? {} : { [label]: value };
    return { metadata: { name, uid: `uid-${name}`, resourceVersion: "7", labels } };
  }
}

/** What a command said. */
export interface Asked {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command; `terminal` is somebody who typed. */
export async function run(
  args: readonly string[],
  cluster: FakeCluster,
  terminal?: { readonly typed: string },
): Promise<Asked> {
  await using server = await FakeApiserver.start();
  server.override = (request) => cluster.answer(request);
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
    contentType: "application/json",
  });
  const connect = () => Promise.resolve(client);
  const said = { stdout: "", stderr: "" };
  const output = (stream: "stderr" | "stdout") => ({
    write: (text: string) => void (said[stream] += text),
    isTerminal: terminal !== undefined,
  });
  const surroundings: Surroundings = {
    stdin: {
      readable: ReadableStream.from([new TextEncoder().encode(terminal?.typed ?? "")]),
      isTerminal: terminal !== undefined,
    },
    stdout: output("stdout"),
    stderr: output("stderr"),
    pid: 1,
    env: () => undefined,
    signal: new AbortController().signal,
  };
  const entries: readonly CommandEntry[] = [
    { words: ["list"], summary: "", load: () => Promise.resolve(createListCommand(connect)) },
    { words: ["opt-out"], summary: "", load: () => Promise.resolve(createOptOutCommand(connect)) },
    { words: ["opt-in"], summary: "", load: () => Promise.resolve(createOptInCommand(connect)) },
  ];
  const exitCode = await dispatch(args, { entries, groups: [] }, surroundings);
  transport[Symbol.dispose]();
  return { exitCode, ...said };
}
