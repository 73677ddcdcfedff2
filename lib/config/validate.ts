/** The rules of the configuration as a whole: every broken one is found, upstream's and ours. */
import { formatDuration } from "../base/duration.ts";
import { nearestName } from "../base/nearest_name.ts";
import { kubernetesVersion } from "../base/version.ts";
import type { Place } from "../base/yaml.ts";
import { isModeSection, modeConfigs } from "../writers/registry.ts";
import { crossChecks, type Finding } from "./cross_checks.ts";
import { type FeatureGates, knownGates, resolveGates } from "./feature_gates.ts";
import type { ProxyConfiguration } from "./internal.ts";
import { type Problem, showValue } from "./problem.ts";
import { valueAt } from "./tables.ts";
import { v1alpha2Table } from "./v1alpha2/table.ts";

/** Where a value came from. */
export interface Origin {
  readonly place: Place;
  /** As the user spells it: a field, or an item of it, or a flag. */
  readonly path: string;
}

export interface ValidateOptions {
  /**
   * v1alpha1 and flags: sections of modes that are not selected go unchecked, and an unset
   * minSyncPeriod counts as upstream's default. v1alpha2: everything is checked as it stands.
   */
  readonly version: "v1alpha1" | "v1alpha2";
  /** `any` lets the modes of other platforms pass: the file may be meant for another node. */
  readonly platform: "linux" | "any";
  /** Of an internal place such as `linux.oomScoreAdj`; the index is that of a list's item. */
  readonly originOf: (place: string, index?: number | string) => Origin | undefined;
  /** Of everything that has no origin. */
  readonly fallback: Place;
}

/** The problems, and the gates as far as they could be resolved. */
export interface Validation {
  readonly problems: readonly Problem[];
  readonly gates: FeatureGates;
}

/** Checks a configuration; pure. */
export function validateConfiguration(
  configuration: ProxyConfiguration,
  options: ValidateOptions,
): Validation {
  const { findings: gateFindings, gates } = checkGates(configuration);
  const findings = [
    ...gateFindings,
    ...checkFields(configuration, options),
    ...crossChecks(configuration, {
      gates,
      platform: options.platform,
      version: options.version,
      hiddenMetricsVersion: previousMinor(kubernetesVersion),
    }),
  ];
  const seen = new Set<string>();
  const problems: Problem[] = [];
  for (const finding of findings) {
    const problem = toProblem(finding, options);
    // Two settings can come from one field: v1alpha1's mark bit serves two modes.
    const { place } = problem;
    const key = [place.source, place.line, place.column, finding.index, problem.rule].join();
    if (place.line === 0 || !seen.has(key)) problems.push(problem);
    seen.add(key);
  }
  return { problems, gates };
}

function checkFields(configuration: ProxyConfiguration, options: ValidateOptions): Finding[] {
  return v1alpha2Table.rows.flatMap(({ path, field, to: [place] }) => {
    if (options.version === "v1alpha1" && isIdle(path, configuration.mode)) return [];
    const value = valueAt(configuration, place);
    return field.rules.flatMap((rule) =>
      rule.check(value).map((breach): Finding => ({
        severity: "error",
        place,
        index: breach.index,
        value: "value" in breach ? breach.value : value,
        rule: breach.rule,
      }))
    );
  });
}

/** Upstream looks at the iptables section in every mode, and at the others in their own alone. */
export function isIdle(path: string, mode: string): boolean {
  const [section] = path.split(".");
  if (section === "iptables" || !isModeSection(section)) return false;
  return modeConfigs[section].mode !== mode;
}

function checkGates({ featureGates }: ProxyConfiguration): {
  findings: Finding[];
  gates: FeatureGates;
} {
  const resolution = resolveGates(featureGates);
  const place = "featureGates";
  if (resolution.kind === "resolved") {
    const findings = resolution.warnings.map(({ gate, stage }): Finding => ({
      severity: "warning",
      place,
      index: gate,
      rule: `sets a ${stage} feature gate, which a future release will not have`,
    }));
    return { findings, gates: resolution.gates };
  }
  const findings = resolution.problems.map(({ gate, message }): Finding => {
    const near = knownGates.lookup(gate) ? undefined : nearestName(gate, knownGates.names());
    const hint = near === undefined ? "" : `did you mean "${near}"?`;
    return { severity: "error", place, index: gate, rule: message, hint };
  });
  return { findings, gates: defaultGates() };
}

function defaultGates(): FeatureGates {
  const resolution = resolveGates({});
  if (resolution.kind === "refused") throw new TypeError("The default gates contradict each other");
  return resolution.gates;
}

function toProblem(finding: Finding, options: ValidateOptions): Problem {
  const origin = options.originOf(finding.place, finding.index);
  const row = v1alpha2Table.rows.find(({ to }) => to[0] === finding.place);
  const upstream = finding.upstream ?? row?.field.upstream ?? "";
  // v1alpha1's address is no list, and upstream has no other.
  const isItem = typeof finding.index === "number" && finding.place !== "nodeIPOverride";
  const upstreamIndex = isItem ? `[${finding.index}]` : "";
  return {
    kind: "value",
    severity: finding.severity,
    place: origin?.place ?? options.fallback,
    path: origin?.path ?? row?.path ?? finding.place,
    ...("value" in finding ? { value: showFinding(finding.value, finding.place) } : {}),
    rule: finding.rule,
    hint: finding.hint ?? "",
    upstream: upstream === "" ? "" : `KubeProxyConfiguration.${upstream}${upstreamIndex}`,
  };
}

function showFinding(value: unknown, place: string): string {
  if (typeof value === "number" && place.endsWith("Ms")) return formatDuration(value);
  return showValue(value);
}

/** `v1.37.0` → `1.36`. */
function previousMinor(version: string): string {
  const [major, minor] = version.replace(/^v/, "").split(".");
  return `${major}.${Number(minor) - 1}`;
}
