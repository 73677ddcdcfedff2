/**
 * Which nodes' proxies will follow the label. Upstream's kube-proxy never does, and an image's name
 * does not tell which program is inside; the flag that only this program knows does.
 */
import {
  asObject,
  insideOf,
  type JsonObject,
  listAt,
  objectsAt,
  textAt,
  textsAt,
} from "../kube/json/values.ts";

/** A kube-proxy of one node, as far as its pod tells. */
export interface NodeProxy {
  readonly nodeName: string;
  readonly image: string;
  readonly honours: "no" | "unknown" | "yes";
}

/** Where installers put kube-proxy's pods. */
export const proxyPods = {
  namespace: "kube-system",
  labelSelector: "k8s-app=kube-proxy",
} as const;

export interface ProxyCount {
  readonly total: number;
  readonly yes: number;
  readonly no: number;
  readonly unknown: number;
  /** Images of those that cannot be told; sorted. */
  readonly unknownImages: readonly string[];
}

/** Reads a list of kube-proxy's pods; throws a ShapeError. */
export function readNodeProxies(value: unknown): readonly NodeProxy[] {
  return listAt(asObject(value), "items").flatMap((item) =>
    insideOf(asObject(item), "spec", (spec) => {
      const nodeName = textAt(spec, "nodeName");
      const containers = objectsAt(spec, "containers", readContainer);
      const proxy = containers.find(({ name }) => name === "kube-proxy") ?? containers[0];
      // A pod that no node has runs nowhere.
      if (nodeName === "" || !proxy) return [];
      return [{ nodeName, image: proxy.image, honours: honoursOf(proxy.words) }];
    })
  );
}

/** How many there are of each kind. */
export function countProxies(proxies: readonly NodeProxy[]): ProxyCount {
  const count = (honours: NodeProxy["honours"]) =>
    proxies.filter((proxy) => proxy.honours === honours).length;
  const unknown = proxies.filter(({ honours }) => honours === "unknown");
  return {
    total: proxies.length,
    yes: count("yes"),
    no: count("no"),
    unknown: unknown.length,
    unknownImages: [...new Set(unknown.map(({ image }) => image))].sort(),
  };
}

function readContainer(container: JsonObject) {
  return {
    name: textAt(container, "name"),
    image: textAt(container, "image"),
    words: [...textsAt(container, "command"), ...textsAt(container, "args")],
  };
}

/** Upstream refuses to start with this flag, so a pod that has it runs this program. */
function honoursOf(words: readonly string[]): NodeProxy["honours"] {
  const value = words.map((word) => /^--namespace-opt-out(?:=(.*))?$/.exec(word))
    .findLast((match) => match !== null);
  if (!value) return "unknown";
  return /^(0|f|F|FALSE|false|False)$/.test(value[1] ?? "true") ? "no" : "yes";
}
