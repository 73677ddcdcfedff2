/** What the files hold: texts become documents of known kinds, and everything else a problem. */
import { nearestName } from "../base/nearest_name.ts";
import { decodeText, type Place, readYaml, type YamlMapping, type YamlNode } from "../base/yaml.ts";
import { modeConfigs, type ModeSections, modeSections } from "../writers/registry.ts";
import type { Problem } from "./problem.ts";

/** The group of every kind here. */
export const apiGroup = "kubeproxy.config.k8s.io";

export type ConfigVersion = "v1alpha1" | "v1alpha2";

/** A file as it was read. */
export interface Source {
  /** As messages name it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export type DocumentKind =
  | { readonly kind: "proxy"; readonly version: ConfigVersion }
  | { readonly kind: "instance" }
  | { readonly kind: "mode"; readonly section: keyof ModeSections };

export interface ConfigDocument {
  readonly is: DocumentKind;
  readonly source: string;
  readonly root: YamlMapping;
  /** Where its kind stands. */
  readonly place: Place;
}

export interface Documents {
  readonly documents: readonly ConfigDocument[];
  readonly problems: readonly Problem[];
}

/** The largest file that is read; nobody writes more by hand. */
export const maxConfigBytes = 1 << 20;

/** Some 2,500 lines: whatever they hold, they are judged within a second. */
export const configLimits = { tokens: 20_000, nodes: 20_000 } as const;

const proxyKind = "KubeProxyConfiguration";
const instanceKind = "KubeProxyInstanceConfiguration";

/** The documents of a file, in order. Of a v1alpha1 file only the first counts. */
export function readDocuments(source: Source): Documents {
  const start: Place = { source: source.name, line: 1, column: 1 };
  const text = decodeText(source.bytes, source.name);
  if (typeof text !== "string") return refused("file", text.place, text.message);
  return readText(text, start);
}

/** The same from text that begins at a place, which may lie inside another file. */
export function readText(text: string, start: Place): Documents {
  const documents: ConfigDocument[] = [];
  const problems: Problem[] = [];
  const read = readYaml(text, { source: start.source, start, limits: configLimits });
  let old: ConfigDocument | undefined;
  for (const { root, problems: found } of read) {
    const place = root?.place ?? found[0]?.place ?? start;
    if (old) {
      const rule = "of a v1alpha1 file only the first document counts; this one is ignored";
      problems.push(problemAt("extra-document", place, rule));
      continue;
    }
    problems.push(...found.map(({ place, message }) => problemAt("syntax", place, message)));
    if (!root || isEmpty(root)) continue;
    const result = identify(root);
    if (!("is" in result)) {
      problems.push(result);
      continue;
    }
    documents.push(result);
    if (result.is.kind === "proxy" && result.is.version === "v1alpha1") old = result;
  }
  if (documents.length === 0 && problems.length === 0) {
    return refused("file", start, `there is no configuration here; it needs apiVersion and kind`);
  }
  return { documents, problems };
}

/** Every kind of document with its version, sorted. */
function knownKinds(): readonly {
  readonly kind: string;
  readonly version: ConfigVersion;
}[] {
  const modes = Object.values(modeConfigs).map(({ documentKind }) => documentKind);
  return [
    { kind: proxyKind, version: "v1alpha1" as const },
    ...[proxyKind, instanceKind, ...modes.sort()].map((kind) => ({
      kind,
      version: "v1alpha2" as const,
    })),
  ];
}

/** The kind of a document of a mode's own section. */
export function modeDocumentKind(section: keyof ModeSections): string {
  return modeConfigs[section].documentKind;
}

function identify(root: YamlNode): ConfigDocument | Problem {
  if (root.kind !== "mapping") {
    return problemAt("document", root.place, "a configuration must be a mapping of fields");
  }
  const apiVersion = header(root, "apiVersion");
  if ("rule" in apiVersion) return apiVersion;
  const kind = header(root, "kind");
  if ("rule" in kind) return kind;
  const [group, version = ""] = apiVersion.text.split("/");
  if (group !== apiGroup || version === "") {
    const hint = hintForGroup(group, version, kind.text);
    const rule = `unknown group, not "${apiVersion.text}"`;
    return { ...problemAt("document", apiVersion.place, rule, "apiVersion"), hint };
  }
  return ofGroup(root, {
    version,
    versionPlace: apiVersion.place,
    kind: kind.text,
    place: kind.place,
  });
}

/** Documents of other programs are no misspelt ones of this. */
function hintForGroup(group: string, version: string, kind: string): string {
  if (group === "v1" && kind === "ConfigMap") {
    return "convert and validate read ConfigMap manifests, run reads the file that one holds";
  }
  if (group === "kubeadm.k8s.io" || group === "kubelet.config.k8s.io") {
    return `convert and validate pick ${proxyKind} out of such a file, run reads one that holds it alone`;
  }
  return `use ${apiGroup}/${version === "v1alpha1" ? version : "v1alpha2"}`;
}

function ofGroup(
  root: YamlMapping,
  { version, versionPlace, kind, place }: {
    version: string;
    versionPlace: Place;
    kind: string;
    place: Place;
  },
): ConfigDocument | Problem {
  const kinds = knownKinds();
  if (version !== "v1alpha1" && version !== "v1alpha2") {
    const rule = `unknown version "${version}"; known are v1alpha1 and v1alpha2`;
    return problemAt("document", versionPlace, rule, "apiVersion");
  }
  if (!kinds.some((known) => known.kind === kind && known.version === version)) {
    const near = nearestName(kind, kinds.map((known) => known.kind));
    const hint = near === kind ? `${kind} is of v1alpha2` : `did you mean "${near ?? proxyKind}"?`;
    return {
      ...problemAt("document", place, `unknown kind "${kind}" of ${version}`, "kind"),
      hint,
    };
  }
  const { source } = root.place;
  if (kind === proxyKind) return { is: { kind: "proxy", version }, source, root, place };
  if (kind === instanceKind) return { is: { kind: "instance" }, source, root, place };
  const section = modeSections.find((name) => modeConfigs[name].documentKind === kind);
  if (!section) throw new TypeError(`No mode has the document kind ${kind}`);
  return { is: { kind: "mode", section }, source, root, place };
}

function header(root: YamlMapping, name: string): { text: string; place: Place } | Problem {
  const entry = root.entries.find(({ key }) => key === name);
  if (!entry) return problemAt("document", root.place, `${name} is missing`, name);
  const { value } = entry;
  if (value.kind !== "scalar" || typeof value.value !== "string" || value.value === "") {
    return problemAt("document", value.place, "must be a string", name);
  }
  return { text: value.value, place: value.place };
}

function isEmpty(root: YamlNode): boolean {
  return root.kind === "scalar" && root.value === null;
}

function refused(kind: Problem["kind"], place: Place, rule: string): Documents {
  return { documents: [], problems: [problemAt(kind, place, rule)] };
}

/** A problem of a place rather than of a field. */
export function problemAt(
  kind: Problem["kind"],
  place: Place,
  rule: string,
  path = "",
): Problem {
  return { kind, severity: "error", place, path, rule, hint: "", upstream: "" };
}
