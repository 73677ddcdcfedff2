/** A file with every field, its default and a sentence about it: to start from, and to look things up. */
import * as z from "zod";
import type { AnyFields } from "../base/fields.ts";
import { isModeSection, modeConfigs, type ModeName } from "../writers/registry.ts";
import { apiGroup, type ConfigVersion } from "./documents.ts";
import { isSection, joinPath } from "./tables.ts";
import { v1alpha1Fields } from "./v1alpha1/fields.ts";
import { v1alpha2Fields } from "./v1alpha2/fields.ts";
import { v1alpha2Header, writeYaml } from "./write.ts";

export interface DefaultsOptions {
  readonly version: ConfigVersion;
  /** Its section alone is shown, and it is chosen; undefined shows all and chooses none. */
  readonly mode: ModeName | undefined;
}

/** The text; it means the same as a file that says nothing but the mode. */
export function defaultsText({ version, mode }: DefaultsOptions): string {
  const fields: AnyFields = version === "v1alpha1" ? v1alpha1Fields : v1alpha2Fields;
  const header = version === "v1alpha2" ? `# ${v1alpha2Header}\n` : "";
  const kind = writeYaml({ apiVersion: `${apiGroup}/${version}`, kind: "KubeProxyConfiguration" });
  return header + kind + sectionText(fields, { path: "", depth: 0, mode, version });
}

interface Context extends DefaultsOptions {
  readonly path: string;
  readonly depth: number;
}

function sectionText(fields: AnyFields, context: Context): string {
  let text = "";
  for (const [name, entry] of Object.entries(fields)) {
    const path = joinPath(context.path, name);
    if (isForeign(path, context)) continue;
    const indent = "  ".repeat(context.depth);
    text += `${context.depth === 0 ? "\n" : ""}${indent}# ${entry.doc}\n`;
    if (isSection(entry)) {
      const inner = { ...context, path, depth: context.depth + 1 };
      text += `${indent}${name}:\n${sectionText(entry.fields, inner)}`;
      continue;
    }
    const value = path === "mode" && context.mode ? context.mode : entry.default;
    if (value === undefined) {
      text += context.version === "v1alpha1" ? `${indent}${name}: 0s\n` : `${indent}# ${name}:\n`;
      continue;
    }
    const lines = writeYaml({ [name]: z.encode(entry.type, value) }).trimEnd().split("\n");
    text += lines.map((line) => `${indent}${line}\n`).join("");
  }
  return text;
}

/** Whether the path is the section of a mode that was not asked for. */
function isForeign(path: string, { mode, version }: Context): boolean {
  if (mode === undefined || !isModeSection(path)) return false;
  // The ipvs mode of v1alpha1 has settings in the section of another.
  if (version === "v1alpha1" && mode === "ipvs" && path === "iptables") return false;
  return modeConfigs[path].mode !== mode;
}
