/** Objects from files, as `--manifests` names them. */
import { RepeatedFailureLog } from "../base/repeated_failure.ts";
import type { OpenSource, SourceOptions } from "./source.ts";

/** Reads the files once and, where they are not read for one moment only, follows them from then on. */
export async function openManifests(context: SourceOptions): Promise<OpenSource> {
  const { options, clock, logger, lifetime, progress } = context;
  let opened = false;
  const { describeManifestProblem, ManifestsSource } = await import(
    "../watchers/manifests.ts"
  );
  const failures = new RepeatedFailureLog(logger, clock);
  const source = await ManifestsSource.open({
    paths: options.manifests,
    clock,
    namespaceOptOut: options.namespaceOptOut,
    signal: lifetime.signal,
    onReading: (path) => {
      if (!opened) progress.show(`Reading ${path} ...`);
    },
    onProblem: (problem) => {
      progress.clear();
      const message = describeManifestProblem(problem);
      failures.report({
        key: message,
        message: "Cannot use a manifest",
        error: new Error(message),
      });
    },
    onNotice: (message) => {
      progress.clear();
      logger.info(message);
    },
  }).finally(() => progress.clear());
  opened = true;
  const once = options.once || options.dryRun;
  const { all, broken } = source.files;
  // What is in the kernel from an earlier run serves on; without these files it would be taken away.
  if (broken > 0 && (once || broken === all)) {
    const files = all === 1 ? "file" : "files";
    throw new Error(
      `Cannot use the manifests ${
        quoted(options.manifests)
      }: ${broken} of ${all} ${files} cannot be used, as told above; correct what is wrong, nothing was changed`,
    );
  }
  if (all === 0 && !lifetime.signal.aborted) {
    logger.info("There is no .yaml, .yml or .json file in the directory of manifests yet", {
      directory: options.manifests.join(","),
    });
  }
  if (!once) lifetime.start((signal) => source.follow(signal));
  return {
    source,
    description: `manifests from ${
      options.manifests.map((path) => path === "-" ? "stdin" : path).join(", ")
    }`,
    // Nobody keeps events here; what is worth one is logged as well.
    events: { emit: () => {} },
    hasNode: false,
  };
}

/** `"a", "b"` */
function quoted(paths: readonly string[]): string {
  return paths.map((path) => `"${path}"`).join(", ");
}
