/** The `/healthz` and `/livez` pages: upstream's bodies and headers, with our stricter first minute. */
import type { Counter } from "../base/metrics.ts";
import type { HealthReport, ProxyHealth } from "./proxy_health.ts";
import { formatTime } from "./rfc3339.ts";

/** Where the answers are counted by status code. */
export interface HealthzMetrics {
  readonly healthz: Counter;
  readonly livez: Counter;
}

/** Answers every method on the two paths, 404 elsewhere. */
export function healthzHandler(
  health: ProxyHealth,
  metrics: HealthzMetrics,
): (request: Request) => Response {
  return (request) => {
    const report = health.report();
    switch (new URL(request.url).pathname) {
      case "/healthz": {
        // Until the first sync a Service would be lost here, so load balancers are told to wait.
        const serving = report.alive && report.inSync;
        const ok = serving && report.nodeEligible;
        metrics.healthz.add(1, { code: ok ? "200" : "503" });
        return answer(report, { ok, healthy: serving, nodeEligible: report.nodeEligible });
      }
      case "/livez":
        metrics.livez.add(1, { code: report.alive ? "200" : "503" });
        return answer(report, { ok: report.alive, healthy: report.alive });
      default:
        return notFound();
    }
  };
}

/** What Go's mux says of an unknown path. */
export function notFound(): Response {
  return new Response("404 page not found\n", {
    status: 404,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  });
}

interface Verdict {
  readonly ok: boolean;
  readonly healthy: boolean;
  readonly nodeEligible?: boolean;
}

function answer(report: HealthReport, { ok, healthy, nodeEligible }: Verdict): Response {
  const status = Object.fromEntries(
    [...report.families].map(([family, state]) => [
      family,
      { lastUpdated: formatTime(state.lastUpdatedMs), healthy: state.healthy },
    ]),
  );
  const body = {
    // Old readers take this for "when did the loop run last", so a good answer is always recent.
    lastUpdated: formatTime(ok ? report.currentMs : report.lastUpdatedMs),
    currentTime: formatTime(report.currentMs),
    ...(nodeEligible === undefined ? {} : { nodeEligible }),
    healthy,
    ...(report.families.size === 0 ? {} : { status }),
  };
  return new Response(JSON.stringify(body), {
    status: ok ? 200 : 503,
    headers: { "content-type": "application/json", "x-content-type-options": "nosniff" },
  });
}
