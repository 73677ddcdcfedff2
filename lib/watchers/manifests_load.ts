/** One manifest file as a whole: either all its objects, or everything that is wrong with it. */
import type { SharedTexts } from "../base/shared_texts.ts";
import type { JsonPath } from "../kube/json/values.ts";
import { decodeManifest, type ManifestObject } from "./manifests_decode.ts";
import { type ManifestDocument, parseManifests, type Steps } from "./manifests_parse.ts";

/** Why a file cannot be used; line and column count from 1, and are 0 when there is no place. */
export interface ManifestProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** A clause: `Service shop/web: spec.ports[0].port must be between 1 and 65535, not 0`. */
  readonly message: string;
}

/** What became of a file. `otherKinds` counts the objects of kinds that a proxy does not read. */
export type LoadedManifest =
  | {
    readonly kind: "loaded";
    readonly objects: readonly ManifestObject[];
    readonly otherKinds: ReadonlyMap<string, number>;
  }
  | { readonly kind: "broken"; readonly problems: readonly ManifestProblem[] };

/** How many problems of one file are shown at most. */
const maxProblems = 20;

export interface LoadOptions {
  readonly file: string;
  /** Shared by all files of a source. */
  readonly texts: SharedTexts;
}

/** Equal texts give equal objects. For tests: the program takes the steps one by one. */
export function loadManifest(text: string, options: LoadOptions): LoadedManifest {
  const steps = loadManifestInSteps(text, options);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same for large texts: whoever takes the steps may do something else between them. */
export function* loadManifestInSteps(
  text: string,
  { file, texts }: LoadOptions,
): Steps<LoadedManifest> {
  const parsed = yield* parseManifests(text, { source: file });
  if (parsed.kind === "broken") {
    const problems = parsed.problems.map((problem) => ({ file, ...problem }));
    return { kind: "broken", problems: problems.slice(0, maxProblems) };
  }
  const objects: ManifestObject[] = [];
  const otherKinds = new Map<string, number>();
  const problems: ManifestProblem[] = [];
  for (const document of parsed.documents) {
    yield;
    const decoded = decodeManifest(document.value, texts);
    if (decoded.kind === "other") {
      otherKinds.set(decoded.name, (otherKinds.get(decoded.name) ?? 0) + 1);
    } else if (decoded.kind !== "refused") {
      objects.push(decoded);
    } else if (problems.length < maxProblems) {
      problems.push(...problemsOf(document, { file, refusal: decoded }));
    }
  }
  if (problems.length > 0) return { kind: "broken", problems: problems.slice(0, maxProblems) };
  return { kind: "loaded", objects, otherKinds };
}

/** The problem as a sentence of one line. */
export function describeManifestProblem(problem: ManifestProblem): string {
  const { file, line, column, message } = problem;
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return `Cannot use manifest "${place}": ${message}`;
}

type Refusal = Extract<ReturnType<typeof decodeManifest>, { readonly kind: "refused" }>;

function problemsOf(
  document: ManifestDocument,
  { file, refusal }: { readonly file: string; readonly refusal: Refusal },
): readonly ManifestProblem[] {
  return refusal.breaches.slice(0, maxProblems).map(({ path, rule }) => ({
    file,
    ...document.placeOf(path),
    message: `${refusal.subject}: ${fieldOf(path)}${rule}`,
  }));
}

/** `spec.ports[0].port `, with the space that separates it from what follows. */
function fieldOf(path: JsonPath): string {
  if (path.length === 0) return "";
  const text = path.map((step) => typeof step === "number" ? `[${step}]` : `.${step}`).join("");
  return `${text.slice(1)} `;
}
