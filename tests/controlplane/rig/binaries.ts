/** Where the programs of a real control plane are: built once, shared by every checkout. */

export const controlPlaneVersion = "v1.37.0";

const programs = ["etcd", "kube-apiserver"] as const;

/**
 * The folder that holds etcd and kube-apiserver: `KUBEBUILDER_ASSETS`, then the cache that
 * `scripts/controlplane-tools` fills. Undefined when neither has them.
 */
function findBinaries(): string | undefined {
  return candidateFolders().find((folder) => programs.every((name) => exists(`${folder}/${name}`)));
}

/** The same, or an error that says what to do. */
export function requireBinaries(): string {
  const folder = findBinaries();
  if (folder) return folder;
  throw new Error(
    `Cannot find ${programs.join(" and ")} in ${candidateFolders().join(" or ")}; ` +
      "run scripts/controlplane-tools, or set KUBEBUILDER_ASSETS",
  );
}

/** A program that not every test needs, such as kube-proxy or kubectl; undefined when missing. */
export function findProgram(name: string): string | undefined {
  return candidateFolders().map((folder) => `${folder}/${name}`).find(exists);
}

function candidateFolders(): readonly string[] {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? "/root"}/.cache`;
  const assets = Deno.env.get("KUBEBUILDER_ASSETS");
  const folders = [`${cache}/kube-proxy-tests/${controlPlaneVersion}`];
  return assets ? [assets, ...folders] : folders;
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
