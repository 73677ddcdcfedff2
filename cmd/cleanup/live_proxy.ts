/** Whether a proxy runs on this node, and in which mode: what it would rewrite is not to be removed. */
import { joinHostPort } from "../../lib/base/ip.ts";
import type { AskPage, PageAnswer } from "../../lib/health/ask_page.ts";
import type { ListenAddress } from "../../lib/health/listener.ts";
import type { NodeRecord } from "./node_record.ts";

/** A proxy that runs. `mode` is undefined where nothing tells it. */
export interface LiveProxy {
  readonly mode: string | undefined;
  /** What gave it away: `answers at http://127.0.0.1:10249/proxyMode`. */
  readonly sign: string;
}

/** Where proxies of this node serve their pages; undefined where they serve none. */
export interface ProxyAddresses {
  readonly metrics: ListenAddress | undefined;
  readonly healthz: ListenAddress | undefined;
}

/** How the pages are asked, and what the node's record says. */
export interface LiveProxyOptions {
  readonly ask: AskPage;
  readonly record: Pick<NodeRecord, "live">;
  readonly signal: AbortSignal;
}

/** A proxy answers on this machine within milliseconds; one that is stopped in a debugger never. */
const timeoutMs = 2_000;

const longestModeName = 30;

/**
 * The proxy that answers at these addresses, in the mode that it or else the record tells; where nobody
 * answers, the one that keeps the record. Undefined where there is no sign of any.
 */
export async function findLiveProxy(
  { healthz, metrics }: ProxyAddresses,
  options: LiveProxyOptions,
): Promise<LiveProxy | undefined> {
  const answers = await askAt(metrics, "/proxyMode", options) ??
    await askAt(healthz, "/livez", options);
  if (answers?.mode !== undefined) return answers;
  const recorded = options.record.live;
  if (!recorded) return answers;
  const { path, record: { mode, process } } = recorded;
  return { mode, sign: `keeps the record "${path}" (process ${process.pid})` };
}

async function askAt(
  address: ListenAddress | undefined,
  path: string,
  { ask, signal }: LiveProxyOptions,
): Promise<LiveProxy | undefined> {
  for (const each of address ? reachable(address) : []) {
    const answer = await ask({ address: each, path, timeoutMs }, signal);
    if (answer.kind === "nobody") continue;
    const sign = `answers at http://${joinHostPort(each.hostname, each.port)}${path}`;
    return { mode: path === "/proxyMode" ? modeOf(answer) : undefined, sign };
  }
  return undefined;
}

/** An unspecified address is all of them; which families it serves is up to the host. */
function reachable({ hostname, port }: ListenAddress): readonly ListenAddress[] {
  const isAny = hostname === "0.0.0.0" || hostname === "::";
  return (isAny ? ["127.0.0.1", "::1"] : [hostname]).map((each) => ({ hostname: each, port }));
}

function modeOf(answer: PageAnswer): string | undefined {
  if (answer.kind !== "page" || answer.status !== 200) return undefined;
  const mode = answer.body.trim();
  return mode.length <= longestModeName && /^[a-z]+$/.test(mode) ? mode : undefined;
}
