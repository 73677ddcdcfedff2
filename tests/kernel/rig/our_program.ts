/** The executable that `KUBE_PROXY_TEST_BINARY` names (`scripts/test` builds one), else the sources. */
export function ourProgramArgv(): readonly string[] {
  const binary = Deno.env.get("KUBE_PROXY_TEST_BINARY");
  if (binary) return [binary];
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  return [Deno.execPath(), "run", "--quiet", "-A", "--no-check", main];
}
