/** `/flagz` and `/statusz`: text for people, and a structured form for who asks for it exactly. */
import { formatTime } from "./rfc3339.ts";

export interface StatuszInfo {
  readonly startMs: number;
  readonly now: () => number;
  /** The runtime's version, shown where upstream shows Go's. */
  readonly runtimeVersion: string;
  /** `1.37.0` */
  readonly binaryVersion: string;
  /** `1.37` */
  readonly emulationVersion: string;
  /** First segments of the served paths, sorted. */
  readonly paths: readonly string[];
  /** Facts of our own, such as the effective sync periods. */
  readonly details: () => Readonly<Record<string, string>>;
}

/** Shows the flags, hidden ones included. */
export function flagzPage(request: Request, flags: Readonly<Record<string, string>>): Response {
  const sorted = Object.fromEntries(Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1)));
  return page(request, { kind: "Flagz", fields: { flags: sorted }, lines: sorted });
}

/** Shows what runs since when, and where to look further. */
export function statuszPage(request: Request, info: StatuszInfo): Response {
  const uptimeSeconds = Math.floor((info.now() - info.startMs) / 1000);
  const details = info.details();
  const fields = {
    startTime: formatTime(Math.floor(info.startMs / 1000) * 1000),
    uptimeSeconds,
    goVersion: info.runtimeVersion,
    binaryVersion: info.binaryVersion,
    emulationVersion: info.emulationVersion,
    paths: info.paths,
  };
  const lines = {
    Started: new Date(info.startMs).toUTCString(),
    Up: formatUptime(uptimeSeconds),
    "Runtime version": info.runtimeVersion,
    "Binary version": info.binaryVersion,
    "Emulation version": info.emulationVersion,
    Paths: info.paths.join(" "),
    ...details,
  };
  return page(request, { kind: "Statusz", fields, lines });
}

interface Page {
  readonly kind: "Flagz" | "Statusz";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly lines: Readonly<Record<string, string>>;
}

function page(request: Request, { kind, fields, lines }: Page): Response {
  const wanted = wantedForm(request.headers.get("accept") ?? "*/*", kind);
  if (wanted.kind === "refused") return notAcceptable();
  if (wanted.kind === "text") {
    const banner =
      `kube-proxy ${kind.toLowerCase()}\nWarning: this page is for people, its form may change with every release.\n\n`;
    const body = Object.entries(lines).map(([name, value]) => `${name}=${value}\n`).join("");
    return new Response(banner + body, {
      headers: { "content-type": "text/plain; charset=utf-8" },
    });
  }
  const object = {
    kind,
    apiVersion: `config.k8s.io/${wanted.version}`,
    metadata: { name: "kube-proxy" },
    ...fields,
  };
  return new Response(JSON.stringify(object), {
    headers: {
      "content-type": `application/json;as=${kind};g=config.k8s.io;v=${wanted.version}`,
      ...(wanted.version === "v1alpha1"
        ? { warning: `299 - "config.k8s.io/v1alpha1 ${kind} is deprecated, use v1beta1"` }
        : {}),
    },
  });
}

type Form =
  | { readonly kind: "text" }
  | { readonly kind: "structured"; readonly version: string }
  | { readonly kind: "refused" };

/** Structured only with all three parameters, as upstream: bare `application/json` is refused. */
function wantedForm(accept: string, kind: string): Form {
  for (const entry of accept.split(",")) {
    const [type, ...rest] = entry.split(";").map((part) => part.trim());
    if (type === "*/*" || type === "text/plain" || type === "text/*") return { kind: "text" };
    const parameters = Object.fromEntries(rest.map((part) => part.split("=")));
    const versionKnown = parameters.v === "v1beta1" || parameters.v === "v1alpha1";
    if (
      type === "application/json" && parameters.as === kind && parameters.g === "config.k8s.io" &&
      versionKnown
    ) {
      return { kind: "structured", version: parameters.v };
    }
  }
  return { kind: "refused" };
}

function notAcceptable(): Response {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message:
      "only text/plain and application/json with the parameters as, g and v are offered here",
    reason: "NotAcceptable",
    code: 406,
  };
  return new Response(JSON.stringify(status), {
    status: 406,
    headers: { "content-type": "application/json" },
  });
}

function formatUptime(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  return `${hours} hr ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} min ${
    String(seconds % 60).padStart(2, "0")
  } sec`;
}
