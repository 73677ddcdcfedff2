/**
 * From files to the internal configuration: which documents go together, which of two values holds,
 * and what is wrong with it. Decoding, defaults and rules are in the files beside this one.
 */
import type { Place } from "../base/yaml.ts";
import { modeConfigs } from "../writers/registry.ts";
import { assemble, type Origins } from "./assemble.ts";
import { decodeDocument, type Given } from "./decode.ts";
import {
  type ConfigDocument,
  type ConfigVersion,
  type Documents,
  problemAt,
  readDocuments,
  readText,
  type Source,
} from "./documents.ts";
import type { FeatureGates } from "./feature_gates.ts";
import type { ProxyConfiguration } from "./internal.ts";
import { describePlace, lenientKinds, type Problem, sortProblems } from "./problem.ts";
import { instanceFields, instanceNames } from "./v1alpha2/instance.ts";
import { v1alpha1Table } from "./v1alpha1/fields.ts";
import { removedFields } from "./v1alpha1/removed.ts";
import { v1alpha2Table } from "./v1alpha2/table.ts";
import { validateConfiguration } from "./validate.ts";

export interface LoadOptions {
  /** Unknown and duplicate fields are errors whatever the version says about them. */
  readonly strict: boolean;
  /** `any`: the file may be meant for another node, so the modes of all platforms pass. */
  readonly platform: "linux" | "any";
  /** Documents of modes and instances may come without the configuration they belong to. */
  readonly partial?: boolean;
}

/** A configuration and where it came from. */
export interface LoadedConfiguration {
  readonly configuration: ProxyConfiguration;
  /** Of the KubeProxyConfiguration; v1alpha2 when there is none. */
  readonly version: ConfigVersion;
  readonly gates: FeatureGates;
  /** What stands in the files, by the path of the version's table. */
  readonly given: ReadonlyMap<string, Given>;
  readonly origins: Origins;
  /** In the order of the files. */
  readonly documents: readonly ConfigDocument[];
}

export interface LoadResult {
  /** Undefined when a problem is an error. */
  readonly loaded: LoadedConfiguration | undefined;
  /** In the order of files and lines; warnings too. */
  readonly problems: readonly Problem[];
}

/** A text and the place where it begins. */
export interface PlacedText {
  readonly text: string;
  readonly start: Place;
}

/** Reads the files as one configuration. Never throws for what they hold. */
export function loadConfiguration(sources: readonly Source[], options: LoadOptions): LoadResult {
  return loadRead(sources.map(readDocuments), options);
}

/** The same for texts, each of which may lie inside another file. */
export function loadTexts(texts: readonly PlacedText[], options: LoadOptions): LoadResult {
  return loadRead(texts.map(({ text, start }) => readText(text, start)), options);
}

function loadRead(read: readonly Documents[], options: LoadOptions): LoadResult {
  const documents = read.flatMap((file) => file.documents);
  const problems = [...read.flatMap((file) => file.problems), ...combinationProblems(documents)];
  const main = documents.filter(({ is }) => is.kind === "proxy");
  const unread = problems.some(({ kind }) => kind === "file" || kind === "syntax");
  if (main.length === 0 && !options.partial && !unread && problems.length === 0) {
    const place = documents[0]?.place ?? { source: "--config", line: 0, column: 0 };
    problems.push(problemAt("document", place, "there is no KubeProxyConfiguration beside this"));
  }
  const merged = mergeDocuments(documents);
  problems.push(...merged.problems);
  if (documents.length === 0) return { loaded: undefined, problems: sortProblems(problems) };
  const version = merged.version;
  const { configuration, origins } = assemble({
    table: version === "v1alpha1" ? v1alpha1Table : v1alpha2Table,
    given: merged.given,
    overrides: merged.overrides,
  });
  const broken = new Set(problems.map(({ place, path }) => `${describePlace(place)} ${path}`));
  const validation = validateConfiguration(configuration, {
    version,
    platform: options.platform,
    originOf: (place, index) => originOf(origins.get(place), index),
    fallback: (main[0] ?? documents[0]).place,
  });
  problems.push(
    ...validation.problems.filter(({ place, path }) =>
      !broken.has(`${describePlace(place)} ${path}`)
    ),
  );
  const lenient = !options.strict && !configuration.configHardFail;
  const judged = sortProblems(problems.map((problem) => judge(problem, lenient)));
  const failed = judged.some(({ severity }) => severity === "error");
  const given = version === "v1alpha1"
    ? merged.given
    : new Map([...merged.given, ...merged.overrides]);
  const loaded = { configuration, version, gates: validation.gates, given, origins, documents };
  return { loaded: failed ? undefined : loaded, problems: judged };
}

function judge(problem: Problem, lenient: boolean): Problem {
  return lenient && lenientKinds.has(problem.kind) ? { ...problem, severity: "warning" } : problem;
}

/** Documents that must not stand beside each other. */
function combinationProblems(documents: readonly ConfigDocument[]): Problem[] {
  const problems: Problem[] = [];
  const old = documents.find(({ is }) => is.kind === "proxy" && is.version === "v1alpha1");
  for (const [index, document] of documents.entries()) {
    const twin = documents.slice(0, index).find((other) =>
      other.source === document.source && nameOf(other) === nameOf(document)
    );
    const { is } = document;
    if (twin) {
      const rule = `a second ${nameOf(document)}, the first is at ${describePlace(twin.place)}`;
      problems.push(problemAt("document", document.place, rule));
    } else if (old && old !== document && is.kind !== "instance") {
      const rule = `${nameOf(document)} cannot stand beside the v1alpha1 configuration at ` +
        describePlace(old.place);
      const hint = "only a KubeProxyInstanceConfiguration can";
      problems.push({ ...problemAt("document", document.place, rule), hint });
    }
  }
  return problems;
}

interface Merged {
  readonly version: ConfigVersion;
  readonly given: ReadonlyMap<string, Given>;
  readonly overrides: ReadonlyMap<string, Given>;
  readonly problems: readonly Problem[];
}

function mergeDocuments(documents: readonly ConfigDocument[]): Merged {
  const given = new Map<string, Given>();
  const overrides = new Map<string, Given>();
  const problems: Problem[] = [...sectionsGivenTwice(documents)];
  let version: ConfigVersion | undefined;
  for (const document of documents) {
    if (document.is.kind === "proxy") version ??= document.is.version;
    const decoded = decodeConfigDocument(document);
    problems.push(...decoded.problems);
    const target = document.is.kind === "instance" ? overrides : given;
    for (const [path, field] of decoded.given) {
      const first = target.get(path);
      if (!first) {
        target.set(path, field);
      } else {
        const rule = `is given twice, first at ${describePlace(first.keyPlace)}`;
        problems.push(problemAt("document", field.keyPlace, rule, field.path));
      }
    }
  }
  return { version: version ?? "v1alpha2", given, overrides, problems };
}

function decodeConfigDocument({ is, root }: ConfigDocument) {
  switch (is.kind) {
    case "proxy":
      return is.version === "v1alpha1"
        ? decodeDocument(root, { table: v1alpha1Table, removed: removedFields })
        : decodeDocument(root, { table: v1alpha2Table });
    case "mode":
      return decodeDocument(root, {
        table: v1alpha2Table,
        fields: modeConfigs[is.section].fields,
        prefix: is.section,
      });
    case "instance":
      return decodeInstance(root);
  }
}

/** A field of the shared configuration is known here, and refused by name. */
function decodeInstance(root: ConfigDocument["root"]) {
  const decoded = decodeDocument(root, { table: v1alpha2Table, fields: instanceFields });
  const shared = (path: string) =>
    v1alpha2Table.rows.some((row) => row.path.split(".")[0] === path);
  const problems = decoded.problems.map((problem): Problem => {
    if (problem.kind !== "unknown-field" || !shared(problem.path)) return problem;
    const rule = "belongs to the KubeProxyConfiguration";
    return { ...problem, kind: "document", rule, hint: `an instance holds only ${instanceNames}` };
  });
  return { given: decoded.given, problems };
}

/** A section inline and as a document: which of the two holds would be a guess. */
function sectionsGivenTwice(documents: readonly ConfigDocument[]): Problem[] {
  return documents.flatMap((document) => {
    const { is } = document;
    if (is.kind !== "mode") return [];
    return documents.filter((other) => other.is.kind === "proxy").flatMap((other) =>
      other.root.entries.filter(({ key }) => key === is.section).map(({ keyPlace }) => {
        const rule = `the section "${is.section}" is given as a document, at ` +
          `${describePlace(document.place)}, and here too`;
        return problemAt("document", keyPlace, rule, is.section);
      })
    );
  });
}

function nameOf({ is }: ConfigDocument): string {
  switch (is.kind) {
    case "proxy":
      return "KubeProxyConfiguration";
    case "instance":
      return "KubeProxyInstanceConfiguration";
    case "mode":
      return modeConfigs[is.section].documentKind;
  }
}

function originOf(
  given: Given | undefined,
  index: number | string | undefined,
): { place: Place; path: string } | undefined {
  if (!given) return undefined;
  const { node, path } = given;
  if (typeof index === "number" && node.kind === "list" && node.items[index]) {
    return { place: node.items[index].place, path: `${path}[${index}]` };
  }
  if (typeof index === "string" && node.kind === "mapping") {
    const entry = node.entries.find(({ key }) => key === index);
    if (entry) return { place: entry.keyPlace, path: `${path}.${index}` };
  }
  return { place: node.place, path };
}
