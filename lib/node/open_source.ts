import { openApiserver } from "./open_apiserver.ts";
import { openManifests } from "./open_manifests.ts";
import type { OpenSource, SourceOptions } from "./source.ts";

/** Opens the source that the options name; a source that can never work throws. */
export function openSource(context: SourceOptions): Promise<OpenSource> {
  return context.options.manifests.length === 0 ? openApiserver(context) : openManifests(context);
}
