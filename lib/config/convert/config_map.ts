/**
 * ConfigMap manifests as kubeadm writes them: a configuration inside a string inside a manifest. It
 * is read where it stands, and put back without touching a byte around it.
 */
import { isMap, isScalar, LineCounter, parseAllDocuments, type Scalar, type YAMLMap } from "yaml";
import { readYaml } from "../../base/yaml.ts";
import { configLimits } from "../documents.ts";
import type { PlacedText } from "../load.ts";

/** A configuration found in a manifest. */
export interface Embedded {
  readonly content: PlacedText;
  /** It stands where kubeadm looks for it. */
  readonly isKubeadms: boolean;
  /** The manifest with another configuration in its place. */
  replaced(text: string): string;
}

const marker = "kubeproxy.config.k8s.io/";
/** Under which kubeadm keeps the configuration in its ConfigMap. */
const kubeadmsKey = "config.conf";

interface Found {
  readonly scalar: Scalar<string>;
  readonly isKubeadms: boolean;
}

/** The configuration of the first ConfigMap that holds one; undefined for every other text. */
export function findEmbedded(text: string, source: string): Embedded | undefined {
  if (!/\bConfigMap\b/.test(text)) return undefined;
  // The reader has limits; the parser below has none.
  const read = readYaml(text, { source, limits: configLimits });
  if (read.some(({ problems }) => problems.length > 0)) return undefined;
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    schema: "failsafe",
    uniqueKeys: false,
    lineCounter: lines,
  });
  for (const { contents } of documents) {
    if (!isMap(contents)) continue;
    const kind: unknown = contents.get("kind");
    if (kind !== "ConfigMap") continue;
    const data: unknown = contents.get("data");
    const found = isMap(data) ? configurationOf(data) : undefined;
    if (found) return embeddedIn(text, found, { source, lines });
  }
  return undefined;
}

/** kubeadm calls it `config.conf`; whatever it is called, it names the group. */
function configurationOf(data: YAMLMap<unknown, unknown>): Found | undefined {
  const candidates = data.items.map(({ key, value }) => ({
    name: isScalar(key) && key.value,
    value,
  }));
  candidates.sort((left, right) =>
    Number(right.name === kubeadmsKey) - Number(left.name === kubeadmsKey)
  );
  for (const { name, value } of candidates) {
    if (isConfiguration(value)) return { scalar: value, isKubeadms: name === kubeadmsKey };
  }
  return undefined;
}

function isConfiguration(value: unknown): value is Scalar<string> {
  return isScalar(value) && typeof value.value === "string" && value.value.includes(marker);
}

function embeddedIn(
  text: string,
  { scalar, isKubeadms }: Found,
  { source, lines }: { source: string; lines: LineCounter },
): Embedded {
  const [begin, end] = scalar.range ?? [0, 0];
  const { line, col } = lines.linePos(begin);
  if (scalar.type !== "BLOCK_LITERAL") {
    // JSON, mostly: one line, in which the places of the content cannot be pointed at.
    return {
      content: { text: scalar.value, start: { source, line, column: col } },
      isKubeadms,
      replaced: (fresh) => text.slice(0, begin) + JSON.stringify(fresh) + text.slice(end),
    };
  }
  const firstLine = text.indexOf("\n", begin) + 1;
  const indent = /^(?:[ ]*\n)*([ ]*)/.exec(text.slice(firstLine))?.[1] ?? "";
  return {
    content: {
      text: scalar.value,
      start: { source, line: line + 1, column: indent.length + 1 },
    },
    isKubeadms,
    replaced: (fresh) => {
      const indented = fresh.trimEnd().split("\n").map((row) => row === "" ? "" : indent + row);
      const rest = text.slice(end);
      return `${text.slice(0, firstLine)}${indented.join("\n")}\n${rest}`;
    },
  };
}
