/** Questions to the apiserver in JSON, of whatever a proxy itself does not read. */
import { linkAbort } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import { describeError } from "../../lib/base/errors.ts";
import { programVersion } from "../../lib/base/version.ts";
import type { Fact } from "../../lib/doctor/fact.ts";
import type { RequestJson } from "../../lib/doctor/facts/cluster_reading.ts";
import { connect } from "../../lib/kube/connect.ts";
import type { KubeClient } from "../../lib/kube/client.ts";
import { ApiError } from "../../lib/kube/status.ts";
import type { Commands } from "../../lib/kernel/commands.ts";

/** Whom to ask, and as whom. */
export interface RequestJsonOptions {
  /** Empty for the service account of the pod. */
  readonly kubeconfig: string;
  readonly env: (name: string) => string | undefined;
  readonly commands: Commands;
  readonly clock: Clock;
  /** Why nobody is to be asked; undefined where somebody is. */
  readonly withoutCluster: string | undefined;
  /** An apiserver that does not answer for so long is none; 8 s when absent. */
  readonly patienceMs?: number;
  /** When it aborts, connections are closed. */
  readonly signal: AbortSignal;
}

const usualPatienceMs = 8_000;

/** Connects at the first question. One that failed to connect is not tried again. */
export function requestJson(options: RequestJsonOptions): RequestJson {
  const { patienceMs = usualPatienceMs } = options;
  let client: Promise<KubeClient> | undefined;
  let broken: string | undefined;
  return async ({ body, method, path }, signal): Promise<Fact<unknown>> => {
    const because = options.withoutCluster ?? broken;
    if (because !== undefined) return { kind: "lacking", because };
    using limit = linkAbort(signal, { afterMs: patienceMs });
    try {
      const opened = await (client ??= open(options));
      const value = await opened.json({
        method,
        path,
        signal: limit.signal,
        ...(body === undefined ? {} : { body }),
      });
      return { kind: "value", value };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiError)) {
        broken = limit.signal.aborted
          ? `the apiserver did not answer in ${patienceMs / 1_000} s`
          : describeError(error);
        return { kind: "lacking", because: broken };
      }
      if (error.isNotFound) return { kind: "absent", because: describeError(error) };
      return { kind: "lacking", because: describeError(error) };
    }
  };
}

async function open(options: RequestJsonOptions): Promise<KubeClient> {
  const { clock, commands, env, kubeconfig, signal } = options;
  const client = await connect({
    kubeconfig,
    master: "",
    environment: env,
    userAgent: `kube-proxy-doctor/${programVersion}`,
    qps: 50,
    burst: 100,
    commands,
    clock,
  });
  signal.addEventListener("abort", () => client[Symbol.dispose](), { once: true });
  return client;
}
