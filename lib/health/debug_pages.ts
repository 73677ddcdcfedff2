/**
 * The `/debug/` pages, served only with profiling enabled. The profiles are V8's, not Go's: a CPU
 * profile opens in any Chromium's developer tools.
 */
import { Session } from "node:inspector/promises";

export interface DebugOptions {
  readonly setVerbosity: (level: number) => void;
  /** Waits that long, or until the request is gone. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

const plainText = {
  "content-type": "text/plain; charset=utf-8",
  "x-content-type-options": "nosniff",
} as const;

const longestProfileSeconds = 120;

/** The page, or undefined when the path is not one of these. */
export async function debugPage(
  request: Request,
  options: DebugOptions,
): Promise<Response | undefined> {
  const url = new URL(request.url);
  switch (url.pathname) {
    case "/debug/pprof":
      return new Response(null, { status: 302, headers: { location: "/debug/pprof/" } });
    case "/debug/pprof/":
      return text("profile?seconds=30: CPU profile in V8's .cpuprofile form\n");
    case "/debug/pprof/profile":
      return await cpuProfile(request, url, options);
    case "/debug/flags":
      return text("PUT /debug/flags/v with a number sets the log verbosity\n");
    case "/debug/flags/v":
      return await verbosity(request, options);
    default:
      if (!url.pathname.startsWith("/debug/pprof/") || url.pathname === "/debug/pprof/cmdline") {
        return undefined;
      }
      return text(
        "This program is not written in Go and has no such profile; use /debug/pprof/profile?seconds=30\n",
        501,
      );
  }
}

async function cpuProfile(request: Request, url: URL, options: DebugOptions): Promise<Response> {
  const seconds = Number(url.searchParams.get("seconds") ?? "30");
  if (!(seconds > 0 && seconds <= longestProfileSeconds)) {
    return text(`seconds must be a number above 0 and up to ${longestProfileSeconds}\n`, 400);
  }
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await options.sleep(seconds * 1000, request.signal);
    const { profile } = await session.post("Profiler.stop");
    return new Response(JSON.stringify(profile), {
      headers: {
        "content-type": "application/json",
        "content-disposition": 'attachment; filename="kube-proxy.cpuprofile"',
      },
    });
  } finally {
    session.disconnect();
  }
}

async function verbosity(request: Request, options: DebugOptions): Promise<Response> {
  if (request.method !== "PUT") return text("unsupported http method", 406);
  const body = (await request.text()).trim();
  if (!/^\d{1,9}$/.test(body)) {
    return text(
      `failed to set klog.logging.verbosity to ${JSON.stringify(body)}: it must be a whole number`,
      400,
    );
  }
  options.setVerbosity(Number(body));
  return text(`successfully set klog.logging.verbosity to ${body}`);
}

function text(body: string, status = 200): Response {
  return new Response(body, { status, headers: plainText });
}
