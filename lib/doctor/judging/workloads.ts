/** Software of the cluster, found by what its workloads are called. */
import type { ClusterSoftware, Workload } from "../facts/cluster_values.ts";
import { versionIn } from "./versions.ts";

/** The first workload whose name matches. */
export function workloadNamed(
  software: ClusterSoftware | undefined,
  name: RegExp,
): Workload | undefined {
  return software?.workloads.find((each) => name.test(each.name));
}

/** The version in the tag of the first image that matches. */
export function imageVersion(
  { images }: Workload,
  image: RegExp,
): readonly number[] | undefined {
  const found = images.find((each) => image.test(each));
  const tag = found === undefined ? undefined : /:([^:/@]+)(?:@.*)?$/.exec(found)?.[1];
  return tag === undefined ? undefined : versionIn(tag);
}

/** `DaemonSet kube-system/kube-flannel-ds`. */
export function describeWorkload({ kind, name, namespace }: Workload): string {
  return `${kind} ${namespace}/${name}`;
}
