/** Helpers of the tests of configurations. */
import { loadConfiguration, type LoadOptions, type LoadResult } from "../../../lib/config/load.ts";
import type { ProxyConfiguration } from "../../../lib/config/internal.ts";
import { describeProblem } from "../../../lib/config/problem.ts";

const encoder = new TextEncoder();

/** Loads texts as files of the names. */
export function loadFiles(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: Partial<LoadOptions> = {},
): LoadResult {
  const sources = Object.entries(files).map(([name, content]) => ({
    name,
    bytes: typeof content === "string" ? encoder.encode(content) : content,
  }));
  return loadConfiguration(sources, { strict: false, platform: "linux", ...options });
}

/** What is wrong with the files, a sentence each; warnings are marked. */
export function problemsOf(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: Partial<LoadOptions> = {},
): string[] {
  return loadFiles(files, options).problems.map((problem) =>
    `${problem.severity === "warning" ? "warning: " : ""}${describeProblem(problem)}`
  );
}

/** The configuration of files that must be valid. */
export function configurationOf(files: Readonly<Record<string, string>>): ProxyConfiguration {
  const { loaded, problems } = loadFiles(files);
  if (!loaded) throw new Error(problems.map(describeProblem).join("\n"));
  return loaded.configuration;
}

/** A document of v1alpha2. */
export function v2(body: string, kind = "KubeProxyConfiguration"): string {
  return `apiVersion: kubeproxy.config.k8s.io/v1alpha2\nkind: ${kind}\n${body}`;
}

/** A document of v1alpha1. */
export function v1(body: string): string {
  return `apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n${body}`;
}
