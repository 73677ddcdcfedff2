/** The pages of the metrics server. What they show comes as injected functions. */
import type { MetricsRegistry } from "../base/metrics.ts";
import { notFound } from "./healthz.ts";
import type { Handler } from "./listener.ts";
import { type DebugOptions, debugPage } from "./debug_pages.ts";
import { HealthSlis } from "./slis.ts";
import { flagzPage, type StatuszInfo, statuszPage } from "./zpages.ts";

export interface MetricsPagesOptions {
  readonly metrics: MetricsRegistry;
  /** The effective proxy mode. */
  readonly mode: string;
  /** The configuration as upstream would show it. */
  readonly configz: () => unknown;
  /** undefined where the gate of the page is off. */
  readonly flagz?: () => Readonly<Record<string, string>>;
  readonly statusz?: StatuszInfo;
  /** undefined unless profiling is enabled. */
  readonly debug?: DebugOptions;
  readonly processStartMs: number;
}

const nosniff = { "x-content-type-options": "nosniff" } as const;
const plainText = { "content-type": "text/plain; charset=utf-8", ...nosniff } as const;
const exposition = { "content-type": "text/plain; version=0.0.4; charset=utf-8" } as const;

/** Answers every path of the metrics server; all methods alike, as upstream. */
export function metricsPages(options: MetricsPagesOptions): Handler {
  const slis = new HealthSlis({ processStartMs: options.processStartMs });
  return async (request) => {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/metrics":
        return new Response(await options.metrics.expose(), {
          headers: {
            ...exposition,
            "process-start-time-unix": String(Math.floor(options.processStartMs / 1000)),
          },
        });
      case "/metrics/slis":
        return await slisPage(request, slis);
      case "/healthz":
        return serverHealth(url, slis);
      case "/healthz/ping":
        return new Response("ok", { headers: plainText });
      case "/proxyMode":
        return new Response(options.mode, { headers: plainText });
      case "/configz":
        return configz(options.configz());
      case "/flagz":
        return options.flagz ? flagzPage(request, options.flagz()) : notFound();
      case "/statusz":
        return options.statusz ? statuszPage(request, options.statusz) : notFound();
      default:
        return (options.debug && await debugPage(request, options.debug)) ?? notFound();
    }
  };
}

function configz(configuration: unknown): Response {
  return new Response(JSON.stringify({ "kubeproxy.config.k8s.io": configuration }), {
    headers: { "content-type": "application/json", ...nosniff },
  });
}

async function slisPage({ method }: Request, slis: HealthSlis): Promise<Response> {
  if (method !== "DELETE") return new Response(await slis.expose(), { headers: exposition });
  slis.reset();
  return new Response("metrics reset\n", { headers: plainText });
}

/** The health of this HTTP server, not of the proxy: whoever asks here wants to know that it answers. */
function serverHealth(url: URL, slis: HealthSlis): Response {
  const excluded = url.searchParams.getAll("exclude").includes("ping");
  if (!excluded) slis.succeeded("ping", "healthz");
  if (!url.searchParams.has("verbose")) return new Response("ok", { headers: plainText });
  return new Response(`[+]ping ${excluded ? "excluded: ok" : "ok"}\nhealthz check passed\n`, {
    headers: plainText,
  });
}
