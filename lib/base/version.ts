/**
 * Two versions: the Kubernetes release this program behaves like, and its own. The build defines
 * `KUBE_PROXY_VERSION` and the others as string constants (esbuild `define`); run from source there
 * are none, and the program calls itself a development version.
 */

declare const KUBE_PROXY_VERSION: string | undefined;
declare const KUBE_PROXY_COMMIT: string | undefined;
declare const KUBE_PROXY_BUILD_DATE: string | undefined;

/** The release whose flags, defaults, metrics and gates this program follows. */
export const kubernetesVersion = "v1.37.0";

/** This program's own version, such as `v0.1.0`. */
export const programVersion: string = typeof KUBE_PROXY_VERSION === "string"
  ? KUBE_PROXY_VERSION
  : "dev";

/** The commit it was built from, or empty. */
export const programCommit: string = typeof KUBE_PROXY_COMMIT === "string" ? KUBE_PROXY_COMMIT : "";

/** The time of that commit, as in `2026-01-31T12:00:00Z`, or empty. */
export const programBuildDate: string = typeof KUBE_PROXY_BUILD_DATE === "string"
  ? KUBE_PROXY_BUILD_DATE
  : "";

/** `Kubernetes v1.37.0` as upstream prints it, and below it this program's own line. */
export function versionText(): string {
  const commit = programCommit === "" ? "" : ` (commit ${programCommit})`;
  return `Kubernetes ${kubernetesVersion}\nkube-proxy ${programVersion}${commit}\n`;
}
