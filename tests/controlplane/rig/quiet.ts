/**
 * Whether a proxy does its work and nothing besides. A fault that heals itself leaves the right rules,
 * and a trace only in the log and in what the apiserver was asked: a watch whose every event cannot be
 * read is a new list each time.
 */
import assert from "node:assert/strict";
import type { AskedRequest, ControlPlane } from "./control_plane.ts";
import type { ProxyProcess } from "./proxy_process.ts";
import { until } from "./table_owner.ts";

/** What may have happened since the last look; nothing that is not given. */
export interface Allowed {
  /** Warnings and errors in the log. */
  readonly says?: readonly RegExp[];
  /** So many lists, of whatever. */
  readonly lists?: number;
  /** So many watches that began anew. */
  readonly watches?: number;
}

/** Each is listed once and watched by one watch, over one connection for all of them. */
const resources = ["endpointslices", "namespaces", "nodes", "servicecidrs", "services"];
const apiserverPort = ":192B";
const DEADLINE_MS = 10_000;
const SETTLED_MS = 400;

/** Fails where a proxy warned or complained of what nobody did to it. */
export function assertContent(process: ProxyProcess, says: readonly RegExp[] = []): void {
  const complaints = process.complaints()
    .filter((line) => !says.some((pattern) => pattern.test(line)));
  assert.deepEqual(complaints, []);
}

/** Looks at one proxy, the only one of its node and of the control plane. */
export class Quiet {
  readonly #process: ProxyProcess;
  readonly #plane: ControlPlane;
  #lines = 0;
  #requests = 0;

  private constructor(process: ProxyProcess, plane: ControlPlane) {
    this.#process = process;
    this.#plane = plane;
  }

  /**
   * Resolves when a proxy that is in sync watches everything, and fails where it took more than it
   * should. `before` is how many requests earlier proxies had made: `(await plane.asked()).length`.
   */
  static async since(
    process: ProxyProcess,
    { plane, before = 0, without = [], says = [] }: {
      readonly plane: ControlPlane;
      readonly before?: number;
      /** Resources that it does not follow, or may not. */
      readonly without?: readonly string[];
      /** Warnings and errors of its start. */
      readonly says?: readonly RegExp[];
    },
  ): Promise<Quiet> {
    const quiet = new Quiet(process, plane);
    quiet.#requests = before;
    const wanted = resources.filter((resource) => !without.includes(resource));
    const asked = async () => (await plane.asked()).slice(before);
    const of = (requests: readonly AskedRequest[], verb: string) =>
      requests.filter((request) => request.verb === verb && !without.includes(request.what))
        .map(({ what }) => what).sort();
    await until("a watch of every resource", DEADLINE_MS, async () => {
      return of(await asked(), "watch").length >= wanted.length;
    });
    const requests = await asked();
    assert.deepEqual({ lists: of(requests, "list"), watches: of(requests, "watch") }, {
      lists: wanted,
      watches: wanted,
    });
    quiet.#requests += requests.length;
    await quiet.check({ says });
    return quiet;
  }

  /** Fails when more happened since the last look than is allowed. */
  async check({ says = [], lists = 0, watches = 0 }: Allowed = {}): Promise<void> {
    // Rules can be right before what follows the change is asked for; the next step is not to pay for it.
    if (lists + watches > 0) await this.#settled();
    const complaints = this.#process.complaints(this.#lines)
      .filter((line) => !says.some((pattern) => pattern.test(line)));
    this.#lines = this.#process.lineCount;
    const requests = (await this.#plane.asked()).slice(this.#requests);
    this.#requests += requests.length;
    assert.deepEqual(complaints, []);
    const told = requests.map(({ verb, what }) => `${verb} ${what}`).join(", ");
    const count = (wanted: string) => requests.filter(({ verb }) => verb === wanted).length;
    assert.ok(count("list") <= lists, `more than ${lists} lists: ${told}`);
    assert.ok(count("watch") <= watches, `more than ${watches} new watches: ${told}`);
    let open = 0;
    await until("one connection to the apiserver", DEADLINE_MS, () => {
      open = connections(this.#process.pid);
      return Promise.resolve(open === 1);
    }).catch((error) => assert.fail(`${error}: there are ${open}`));
  }

  /** Resolves when nothing was asked of the apiserver for a while. */
  async #settled(): Promise<void> {
    for (let before = -1, count = 0; before !== count;) {
      before = count;
      await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
      count = (await this.#plane.asked()).length;
    }
  }
}

/** Established ones of the process's network namespace. */
function connections(pid: number): number {
  return ["tcp", "tcp6"]
    .flatMap((name) => Deno.readTextFileSync(`/proc/${pid}/net/${name}`).split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote, state]) => remote?.endsWith(apiserverPort) && state === "01").length;
}
