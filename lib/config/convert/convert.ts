/** One file of either version as the other: the text, and a line for every field. */
import { modeSections } from "../../writers/registry.ts";
import type { Given } from "../decode.ts";
import {
  apiGroup,
  type ConfigDocument,
  type ConfigVersion,
  modeDocumentKind,
} from "../documents.ts";
import { loadTexts, type PlacedText } from "../load.ts";
import type { Problem } from "../problem.ts";
import { instanceFields } from "../v1alpha2/instance.ts";
import { v1alpha2Header } from "../write.ts";
import {
  otherVersion,
  type Plan,
  planToSame,
  planToV1alpha1,
  planToV1alpha2,
  type Step,
} from "./plan.ts";
import {
  type Editable,
  editDocuments,
  extract,
  extractSection,
  inlineSection,
  overlay,
  printEditable,
  rewrite,
  setHeader,
  setTop,
} from "./rewrite.ts";

export interface ConvertOptions {
  /** The other version by default. */
  readonly to: ConfigVersion | undefined;
  /** Leave changed defaults to v1alpha2 instead of writing the old ones. */
  readonly adoptNewDefaults: boolean;
}

/** A finished conversion; nothing has been written. */
export interface Conversion {
  readonly from: ConfigVersion;
  readonly to: ConfigVersion;
  readonly result: Editable;
  /** In the order of the source; fields that it does not have come last. */
  readonly steps: readonly Step[];
  readonly warnings: readonly Problem[];
}

export type ConvertResult =
  | { readonly kind: "converted"; readonly conversion: Conversion }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Converts the text of a file. */
export function convertText(source: PlacedText, options: ConvertOptions): ConvertResult {
  const { loaded, problems } = loadTexts([source], { strict: false, platform: "any" });
  if (!loaded) return { kind: "refused", problems };
  const from = loaded.version;
  const to = options.to ?? otherVersion(from);
  const input = { given: loaded.given, configuration: loaded.configuration };
  const plan = planOf(from, to, { input, adoptNewDefaults: options.adoptNewDefaults });
  const result = rewrite(joinDocuments(source.text, loaded.documents), plan);
  setTop(result, "apiVersion", `${apiGroup}/${to}`);
  if (to === "v1alpha2") setHeader(result, v1alpha2Header);
  const ignored = problems.filter(({ kind }) => kind === "unknown-field").map(ignoredStep);
  const steps = [...[...plan.fields.values()].flat(), ...ignored, ...plan.added];
  return { kind: "converted", conversion: { from, to, result, steps, warnings: problems } };
}

/** The result as one text. */
export function conversionText({ result }: Conversion): string {
  return printEditable(result);
}

/** A v1alpha2 result as one file for all nodes, one for this node, and one for each mode. */
export function splitConversion({ result }: Conversion): { name: string; text: string }[] {
  const files: { name: string; text: string }[] = [];
  const add = (name: string, kind: string, part: Editable | undefined) => {
    if (!part) return;
    setTop(part, "kind", kind);
    setTop(part, "apiVersion", `${apiGroup}/v1alpha2`);
    setHeader(part, v1alpha2Header);
    files.push({ name: `${name}.yaml`, text: printEditable(part) });
  };
  const instance = extract(result, (name) => Object.hasOwn(instanceFields, name));
  add("instance", "KubeProxyInstanceConfiguration", instance);
  for (const section of modeSections.toSorted()) {
    add(section, modeDocumentKind(section), extractSection(result, section));
  }
  return [{ name: "kube-proxy.yaml", text: printEditable(result) }, ...files];
}

function planOf(
  from: ConfigVersion,
  to: ConfigVersion,
  { input, adoptNewDefaults }: {
    input: { given: ReadonlyMap<string, Given>; configuration: PlanConfiguration };
    adoptNewDefaults: boolean;
  },
): Plan {
  if (from === to) return planToSame(input);
  return to === "v1alpha2" ? planToV1alpha2(input, { adoptNewDefaults }) : planToV1alpha1(input);
}

type PlanConfiguration = Parameters<typeof planToSame>[0]["configuration"];

/** Every document of the file in one: those of modes as sections, that of the instance on top. */
function joinDocuments(text: string, documents: readonly ConfigDocument[]): Editable {
  const editables = editDocuments(text);
  const main = documents.findIndex(({ is }) => is.kind === "proxy");
  const target = editables[main];
  for (const [index, { is }] of documents.entries()) {
    if (is.kind === "mode") inlineSection(target, is.section, editables[index]);
    if (is.kind === "instance") overlay(target, editables[index]);
  }
  return target;
}

function ignoredStep({ path, hint }: Problem): Step {
  return {
    kind: "dropped",
    from: path,
    to: "",
    value: "",
    why: hint === "" ? "unknown field" : `unknown field; ${hint}`,
  };
}
