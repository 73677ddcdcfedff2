/** What the checks ask of the apiserver besides the objects that a proxy needs anyway. */
import type { Fact, FactReader } from "../fact.ts";
import type {
  AccessFacts,
  ClusterSoftware,
  ClusterValues,
  MetricUser,
  SoftwareSetting,
  Workload,
} from "./cluster_values.ts";
import { listAt, textAt } from "./json_values.ts";
import { known, unknown } from "./known.ts";

/** A question in JSON. */
export interface JsonQuestion {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
}

/**
 * Asks the apiserver. Absent: there is no such object or kind. Lacking: there is no apiserver to ask,
 * it does not answer, or it forbids.
 */
export type RequestJson = (question: JsonQuestion, signal: AbortSignal) => Promise<Fact<unknown>>;

/** Those of the cluster, but for its objects and the configuration. */
export type ClusterReaders = {
  readonly [N in "access" | "clusterVersion" | "metricUsers" | "software"]: FactReader<
    ClusterValues[N]
  >;
};

const timeoutMs = 10_000;

/** How they are read. */
export function clusterReaders(requestJson: RequestJson): ClusterReaders {
  return {
    clusterVersion: {
      timeoutMs,
      read: async ({ signal }) => {
        const answer = await requestJson({ method: "GET", path: "/version" }, signal);
        if (answer.kind !== "value") return answer;
        const { value } = answer;
        const [major, minor] = [textAt(value, "major"), textAt(value, "minor")];
        const found = [parseInt(major ?? "", 10), parseInt(minor ?? "", 10)];
        return found.every(Number.isInteger)
          ? known({ major: found[0], minor: found[1] })
          : unknown(`the apiserver says it is version "${major}.${minor}"`);
      },
    },
    software: { timeoutMs, read: ({ signal }) => readSoftware(requestJson, signal) },
    metricUsers: { timeoutMs, read: ({ signal }) => readMetricUsers(requestJson, signal) },
    access: { timeoutMs, read: ({ signal }) => readAccess(requestJson, signal) },
  };
}

/** Where each setting stands: an object, and the way to the value in it. */
const settingPlaces: readonly {
  readonly setting: SoftwareSetting;
  readonly path: string;
  readonly find: (object: unknown) => string | undefined;
}[] = [
  {
    setting: "antrea.proxyAll",
    path: "/api/v1/namespaces/kube-system/configmaps/antrea-config",
    find: (object) =>
      /^\s*proxyAll:\s*(true|false)/m.exec(textAt(object, "data", "antrea-agent.conf") ?? "")?.[1],
  },
  {
    setting: "calico.linuxDataplane",
    path: "/apis/operator.tigera.io/v1/installations/default",
    find: (object) => textAt(object, "spec", "calicoNetwork", "linuxDataplane"),
  },
  {
    setting: "calico.nftablesMode",
    path: "/apis/crd.projectcalico.org/v1/felixconfigurations/default",
    find: (object) => textAt(object, "spec", "nftablesMode"),
  },
  {
    setting: "cilium.kubeProxyReplacement",
    path: "/api/v1/namespaces/kube-system/configmaps/cilium-config",
    find: (object) => textAt(object, "data", "kube-proxy-replacement"),
  },
  {
    setting: "flannel.EnableNFTables",
    path: "/api/v1/namespaces/kube-flannel/configmaps/kube-flannel-cfg",
    find: (object) =>
      /"EnableNFTables"\s*:\s*(true|false)/.exec(textAt(object, "data", "net-conf.json") ?? "")
        ?.[1],
  },
  {
    setting: "istio.nativeNftables",
    path: "/api/v1/namespaces/istio-system/configmaps/istio-cni-config",
    find: (object) => textAt(object, "data", "NATIVE_NFTABLES"),
  },
];

async function readSoftware(
  requestJson: RequestJson,
  signal: AbortSignal,
): Promise<Fact<ClusterSoftware>> {
  const ask = (path: string) => requestJson({ method: "GET", path }, signal);
  const kinds = ["DaemonSet", "Deployment"] as const;
  const [lists, objects] = await Promise.all([
    Promise.all(kinds.map((kind) => ask(`/apis/apps/v1/${kind.toLowerCase()}s`))),
    Promise.all(settingPlaces.map(({ path }) => ask(path))),
  ]);
  const workloads: Workload[] = [];
  for (const [at, list] of lists.entries()) {
    if (list.kind !== "value") return list.kind === "absent" ? unknown(list.because) : list;
    for (const item of listAt(list.value, "items")) workloads.push(workloadOf(item, kinds[at]));
  }
  const settings = new Map<SoftwareSetting, string>();
  for (const [at, object] of objects.entries()) {
    const { find, setting } = settingPlaces[at];
    const value = object.kind === "value" ? find(object.value) : undefined;
    if (value !== undefined) settings.set(setting, value);
  }
  return known({ workloads, settings });
}

function workloadOf(item: unknown, kind: Workload["kind"]): Workload {
  const containers = ["containers", "initContainers"].flatMap((list) =>
    listAt(item, "spec", "template", "spec", list)
  );
  return {
    kind,
    namespace: textAt(item, "metadata", "namespace") ?? "",
    name: textAt(item, "metadata", "name") ?? "",
    images: containers.flatMap((each) => textAt(each, "image") ?? []),
    words: containers.flatMap((each) => [...listAt(each, "command"), ...listAt(each, "args")])
      .map(String),
    env: new Map(
      containers.flatMap((each) => listAt(each, "env")).flatMap((each) => {
        const [name, value] = [textAt(each, "name"), textAt(each, "value")];
        return name === undefined || value === undefined ? [] : [[name, value] as const];
      }),
    ),
  };
}

const metricPattern =
  /\b(?:kubeproxy_sync_proxy_rules_iptables_\w+|kubeproxy_iptables_\w+|node_ipvs_\w+)/g;

async function readMetricUsers(
  requestJson: RequestJson,
  signal: AbortSignal,
): Promise<Fact<readonly MetricUser[]>> {
  const users: MetricUser[] = [];
  const sources = [
    ["PrometheusRule", "/apis/monitoring.coreos.com/v1/prometheusrules"],
    ["ConfigMap", "/api/v1/configmaps?labelSelector=grafana_dashboard"],
  ];
  for (const [kind, path] of sources) {
    const answer = await requestJson({ method: "GET", path }, signal);
    // A cluster without Prometheus has no such kind.
    if (answer.kind === "absent") continue;
    if (answer.kind !== "value") return answer;
    for (const item of listAt(answer.value, "items")) {
      const metrics = [...new Set(JSON.stringify(item).match(metricPattern) ?? [])].sort();
      const name = `${textAt(item, "metadata", "namespace")}/${textAt(item, "metadata", "name")}`;
      if (metrics.length > 0) users.push({ where: `${kind} ${name}`, metrics });
    }
  }
  return known(users);
}

const needed = [
  { group: "", resource: "services" },
  { group: "discovery.k8s.io", resource: "endpointslices" },
  { group: "", resource: "nodes" },
  { group: "networking.k8s.io", resource: "servicecidrs" },
  { group: "", resource: "namespaces" },
];

async function readAccess(
  requestJson: RequestJson,
  signal: AbortSignal,
): Promise<Fact<AccessFacts>> {
  const questions = needed.flatMap((each) => ["list", "watch"].map((verb) => ({ ...each, verb })));
  const answers = await Promise.all(questions.map((resourceAttributes) =>
    requestJson({
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes },
      },
    }, signal)
  ));
  const denied: string[] = [];
  for (const [at, answer] of answers.entries()) {
    if (answer.kind !== "value") return answer;
    const { group, resource, verb } = questions[at];
    const isAllowed = textAt(answer.value, "status", "allowed") === "true";
    if (!isAllowed) denied.push(`${verb} ${resource}${group === "" ? "" : `.${group}`}`);
  }
  return known({ denied });
}
