/** The processor as Kubernetes names it. */
export function processor(): string {
  return Deno.build.arch === "aarch64" ? "arm64" : "amd64";
}
