/** How requests for objects are spelled. */
import type { ApiObject } from "./objects.ts";
import type { Resource } from "./resource.ts";

/** Which objects: all where nothing is given. */
export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends Selection {
  /** `0`: whatever the server's cache holds; a version: at least that new; empty: the newest. */
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
}

const pageSize = 500;

/** The path of a collection, in one namespace or in all. */
export function collectionPath<T extends ApiObject>(
  resource: Resource<T>,
  namespace = "",
): string {
  const { groupPath, name } = resource;
  return namespace === ""
    ? `${groupPath}/${name}`
    : `${groupPath}/namespaces/${encodeURIComponent(namespace)}/${name}`;
}

/** The selectors alone. */
export function selectionQuery(
  { labelSelector = "", fieldSelector = "" }: Selection,
): URLSearchParams {
  const query = new URLSearchParams();
  if (labelSelector !== "") query.set("labelSelector", labelSelector);
  if (fieldSelector !== "") query.set("fieldSelector", fieldSelector);
  return query;
}

/**
 * A page size together with a version means exactly that version, which may be compacted, and goes
 * past the server's cache: so pages are asked for only where no version is.
 */
export function listQuery(options: ListOptions, continueToken: string): URLSearchParams {
  const { resourceVersion } = options;
  const query = selectionQuery(options);
  if (continueToken !== "") {
    query.set("limit", String(pageSize));
    query.set("continue", continueToken);
  } else if (resourceVersion === "" || resourceVersion === "0") {
    query.set("limit", String(pageSize));
    if (resourceVersion !== "") query.set("resourceVersion", resourceVersion);
  } else {
    query.set("resourceVersion", resourceVersion);
    query.set("resourceVersionMatch", "NotOlderThan");
  }
  return query;
}
