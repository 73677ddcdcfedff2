/** What `--version` prints. It is all that is loaded for it: see main.ts. */
import {
  kubernetesVersion,
  programBuildDate,
  programCommit,
  programVersion,
  versionText,
} from "../lib/base/version.ts";
import type { Output } from "./command.ts";

/** Prints the version as `true` or `raw` asks for it; false for any other request. */
export function printVersion(request: string, output: Output): boolean {
  if (request === "true") output.write(versionText());
  if (request === "raw") output.write(`${rawVersion()}\n`);
  return request === "true" || request === "raw";
}

/** The parts in one line, in upstream's form. */
function rawVersion(): string {
  const [major, minor] = kubernetesVersion.slice(1).split(".");
  const parts = {
    Major: major,
    Minor: minor,
    EmulationMajor: "",
    EmulationMinor: "",
    MinCompatibilityMajor: "",
    MinCompatibilityMinor: "",
    GitVersion: kubernetesVersion,
    GitCommit: programCommit,
    GitTreeState: "",
    BuildDate: programBuildDate,
    GoVersion: "",
    Compiler: `kube-proxy ${programVersion}`,
    Platform: `${Deno.build.os}/${Deno.build.arch}`,
  };
  const text = Object.entries(parts).map(([name, value]) => `${name}:${JSON.stringify(value)}`);
  return `version.Info{${text.join(", ")}}`;
}
