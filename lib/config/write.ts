/** From the internal configuration to a file of either version. */
import * as z from "zod";
import { Document, Scalar, visit } from "yaml";
import { readPlain } from "../base/yaml_scalar.ts";
import type { AnyFields } from "../base/fields.ts";
import { apiGroup, type ConfigVersion } from "./documents.ts";
import type { ProxyConfiguration } from "./internal.ts";
import { isSection, joinPath, type Row, type Table, valueAt } from "./tables.ts";
import { v1alpha1Table } from "./v1alpha1/fields.ts";
import { v1alpha2Table } from "./v1alpha2/table.ts";
import { isIdle } from "./validate.ts";

/** Said at the top of every file of the new version that this program writes. */
export const v1alpha2Header =
  "Served by this kube-proxy, not by upstream's: v1alpha2 is in no Kubernetes release (KEP-784).";

export interface V1alpha1Options {
  /** What an unset minSyncPeriod is written as: `0s` stays unset, `upstream` is what upstream prints. */
  readonly unsetMinSyncPeriod: "0s" | "upstream";
}

/** A mapping as it stands in a file. */
export type FileValues = { readonly [name: string]: unknown };

/**
 * As v1alpha1, with upstream's choice of what is always there: the sync periods and masqueradeAll
 * stand in the section of the mode, the others show zero.
 */
export function toV1alpha1(
  configuration: ProxyConfiguration,
  options: V1alpha1Options,
): FileValues {
  const values = valuesOf(v1alpha1Table, (row) => {
    if (row.path === "portRange") return "";
    if (row.path === "bindAddress" && configuration.nodeIPOverride.length === 0) {
      return configuration.unspecifiedBindAddress;
    }
    if (!row.counts(configuration.mode)) return zeroOf(row);
    const value = valueAt(configuration, placeOf(row, configuration));
    if (value === undefined) {
      const filled = configuration.mode === "ipvs" ? "0s" : "1s";
      return options.unsetMinSyncPeriod === "upstream" ? filled : "0s";
    }
    return encodeOrOmit(row, value);
  });
  return sortKeys({
    ...values,
    apiVersion: `${apiGroup}/v1alpha1`,
    kind: "KubeProxyConfiguration",
  });
}

/**
 * As v1alpha2, every field but an unset minSyncPeriod, in the order of the table. v1alpha1 lets broken
 * values stand in sections that no mode reads; v1alpha2 does not, so their defaults are written.
 */
function toV1alpha2(configuration: ProxyConfiguration): FileValues {
  const values = valuesOf(v1alpha2Table, (row) => {
    const own = valueAt(configuration, row.to[0]);
    const broken = isIdle(row.path, configuration.mode) &&
      row.field.rules.some((rule) => rule.check(own).length > 0);
    const value = broken ? row.field.default : own;
    return value === undefined ? undefined : z.encode(row.field.type, value);
  });
  return { apiVersion: `${apiGroup}/v1alpha2`, kind: "KubeProxyConfiguration", ...values };
}

/** The text of a file; it reads back as the same configuration. */
export function writeConfiguration(
  configuration: ProxyConfiguration,
  version: ConfigVersion,
): string {
  if (version === "v1alpha1") {
    return writeYaml(toV1alpha1(configuration, { unsetMinSyncPeriod: "0s" }));
  }
  const text = writeYaml(toV1alpha2(configuration));
  const unset = configuration.minSyncPeriodMs === undefined
    ? text.replace(/^configSyncPeriod:/m, "# minSyncPeriod: unset, the mode decides\n$&")
    : text;
  return `# ${v1alpha2Header}\n${unset}`;
}

/** Block style with the quotes that upstream's library chooses. */
export function writeYaml(values: FileValues): string {
  const document = new Document(values, { version: "1.1" });
  visit(document, {
    Scalar: (_key, scalar) => {
      const { value } = scalar;
      if (typeof value === "string" && readPlain(value) !== value) {
        scalar.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  return document.toString({ lineWidth: 0, indentSeq: false, nullStr: "null", singleQuote: true });
}

function valuesOf(table: Table, encode: (row: Row) => unknown): FileValues {
  const walk = (fields: AnyFields, path: string): FileValues => {
    const entries: [string, unknown][] = [];
    for (const [name, entry] of Object.entries(fields)) {
      const own = joinPath(path, name);
      const row = table.byPath.get(own);
      const value = isSection(entry) ? walk(entry.fields, own) : row && encode(row);
      if (value !== undefined) entries.push([name, value]);
    }
    return Object.fromEntries(entries);
  };
  return walk(table.fields, "");
}

/** v1alpha1 has one mark bit for two modes: the one in use is written. */
function placeOf(row: Row, { mode }: ProxyConfiguration): string {
  const isShared = row.path === "iptables.masqueradeBit" && mode === "ipvs";
  return (isShared ? row.to[1] : row.to[0]) ?? row.path;
}

/** Upstream leaves these out when they say nothing. */
const omitted: ReadonlySet<string> = new Set([
  "featureGates",
  "logging.options.json.splitStream",
  "logging.options.text.splitStream",
  "logging.vmodule",
  "windowsRunAsService",
]);

function encodeOrOmit(row: Row, value: unknown): unknown {
  const encoded: unknown = z.encode(row.field.type, value);
  const empty = encoded === false ||
    typeof encoded === "object" && encoded !== null && Object.keys(encoded).length === 0;
  if (!empty) return encoded;
  if (omitted.has(row.path)) return undefined;
  return Array.isArray(encoded) ? null : encoded;
}

function zeroOf(row: Row): unknown {
  return typeof row.field.default === "boolean" ? false : "0s";
}

function sortKeys(values: FileValues): FileValues {
  const entries = Object.entries(values).map(([key, value]): [string, unknown] => [
    key,
    isFileValues(value) ? sortKeys(value) : value,
  ]);
  return Object.fromEntries(entries.sort(([left], [right]) => left < right ? -1 : 1));
}

function isFileValues(value: unknown): value is FileValues {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
