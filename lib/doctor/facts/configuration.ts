/** The configuration of the proxy that serves now: from files, else from the cluster's ConfigMap. */
import { loadConfiguration, type LoadResult, loadTexts } from "../../config/load.ts";
import { describeProblem } from "../../config/problem.ts";
import { readSources } from "../../config/sources.ts";
import type { FactReader } from "../fact.ts";
import type { ConfigurationFacts } from "./cluster_values.ts";
import type { RequestJson } from "./cluster_reading.ts";
import { textAt } from "./json_values.ts";
import { absent, known } from "./known.ts";

/** What the reader works with. */
export interface ConfigurationOptions {
  /** What `--config` names. */
  readonly paths: readonly string[];
  readonly requestJson: RequestJson;
}

const configMap = "/api/v1/namespaces/kube-system/configmaps/kube-proxy";
/** As kubeadm names it. */
const key = "config.conf";

/** Reads it strictly, to tell everything that is wrong, and as `run` would. */
export function configurationReader(
  { paths, requestJson }: ConfigurationOptions,
): FactReader<ConfigurationFacts> {
  return {
    timeoutMs: 11_000,
    read: async ({ signal }) => {
      if (paths.length > 0) {
        const sources = await readSources(paths);
        return known(
          judged(
            paths.join(", "),
            (strict) => loadConfiguration(sources, { strict, platform: "linux" }),
          ),
        );
      }
      const answer = await requestJson({ method: "GET", path: configMap }, signal);
      const text = answer.kind === "value" ? textAt(answer.value, "data", key) : undefined;
      if (text === undefined) return absent("no configuration was named, and none was found");
      const where = "configmap kube-system/kube-proxy";
      const start = { source: where, line: 1, column: 1 };
      return known(
        judged(where, (strict) => loadTexts([{ text, start }], { strict, platform: "linux" })),
      );
    },
  };
}

function judged(where: string, load: (strict: boolean) => LoadResult): ConfigurationFacts {
  const strict = load(true);
  return {
    where,
    problems: strict.problems.filter(({ severity }) => severity === "error").map(describeProblem),
    configuration: (strict.loaded ?? load(false).loaded)?.configuration,
  };
}
