/** What is asked of the apiserver besides a proxy's own objects, and the configuration. */
import assert from "node:assert/strict";
import type { Fact, FactReader } from "../../../../lib/doctor/fact.ts";
import {
  clusterReaders,
  type JsonQuestion,
  type RequestJson,
} from "../../../../lib/doctor/facts/cluster_reading.ts";
import { configurationReader } from "../../../../lib/doctor/facts/configuration.ts";
import { withHost } from "../../kernel/inspection/host_folder.ts";
import { FactsInMemory } from "../facts_in_memory.ts";

async function read<T>(reader: FactReader<T>): Promise<Fact<T>> {
  const { signal } = new AbortController();
  return await reader.read({ signal, facts: new FactsInMemory() });
}

function valueOf<T>(fact: Fact<T>): T {
  assert.ok(fact.kind === "value", JSON.stringify(fact));
  return fact.value;
}

const notThere = { kind: "absent", because: "not found" } as const;
const forbidden = { kind: "lacking", because: "forbidden" } as const;

/** An apiserver with these objects by their path; of others it says the rest. */
function apiserver(
  objects: Readonly<Record<string, unknown>>,
  rest: Fact<unknown> = notThere,
): RequestJson {
  return ({ path }) =>
    Promise.resolve(path in objects ? { kind: "value", value: objects[path] } : rest);
}

Deno.test("the cluster's version is read as numbers", async () => {
  const of = (version: unknown) =>
    read(clusterReaders(apiserver({ "/version": version })).clusterVersion);
  assert.deepEqual(valueOf(await of({ major: "1", minor: "37+" })), { major: 1, minor: 37 });
  assert.equal((await of({ major: "1", minor: "x" })).kind, "unknown");
  assert.equal((await of("garbage")).kind, "unknown");
  assert.equal(
    (await read(clusterReaders(apiserver({}, forbidden)).clusterVersion)).kind,
    "lacking",
  );
});

const daemonSet = {
  metadata: { namespace: "kube-system", name: "kube-proxy" },
  spec: {
    template: {
      spec: {
        containers: [{
          image: "a:1",
          command: ["run"],
          args: ["--x", 7],
          env: [{ name: "E", value: "1" }, { name: "F" }],
        }],
        initContainers: [{ image: "b:2" }],
      },
    },
  },
};

Deno.test("workloads and settings of networking software are read", async () => {
  const { settings, workloads } = valueOf(
    await read(
      clusterReaders(apiserver({
        "/apis/apps/v1/daemonsets": { items: [daemonSet] },
        "/apis/apps/v1/deployments": { items: [{}] },
        "/apis/operator.tigera.io/v1/installations/default": {
          spec: { calicoNetwork: { linuxDataplane: "Nftables" } },
        },
        "/apis/crd.projectcalico.org/v1/felixconfigurations/default": {
          spec: { nftablesMode: "Auto" },
        },
        "/api/v1/namespaces/kube-system/configmaps/cilium-config": {
          data: { "kube-proxy-replacement": "true" },
        },
        "/api/v1/namespaces/kube-flannel/configmaps/kube-flannel-cfg": {
          data: { "net-conf.json": '{"EnableNFTables": true}' },
        },
        "/api/v1/namespaces/istio-system/configmaps/istio-cni-config": {
          data: { NATIVE_NFTABLES: "true" },
        },
        "/api/v1/namespaces/kube-system/configmaps/antrea-config": {
          data: { "antrea-agent.conf": "antreaProxy:\n  proxyAll: false\n" },
        },
      })).software,
    ),
  );
  assert.deepEqual(workloads[0], {
    kind: "DaemonSet",
    namespace: "kube-system",
    name: "kube-proxy",
    images: ["a:1", "b:2"],
    words: ["run", "--x", "7"],
    env: new Map([["E", "1"]]),
  });
  assert.equal(workloads[1].kind, "Deployment");
  assert.deepEqual(Object.fromEntries(settings), {
    "antrea.proxyAll": "false",
    "calico.linuxDataplane": "Nftables",
    "calico.nftablesMode": "Auto",
    "cilium.kubeProxyReplacement": "true",
    "flannel.EnableNFTables": "true",
    "istio.nativeNftables": "true",
  });
});

Deno.test("software that nobody lets us see is no software that is not there", async () => {
  const { software } = clusterReaders(apiserver({}, forbidden));
  assert.deepEqual(await read(software), forbidden);
  assert.equal((await read(clusterReaders(apiserver({})).software)).kind, "unknown");
});

Deno.test("alerts and dashboards that name metrics which vanish are found", async () => {
  const rule = (expr: string) => ({
    metadata: { namespace: "monitoring", name: "proxy" },
    spec: { groups: [{ rules: [{ expr }] }] },
  });
  const path = "/apis/monitoring.coreos.com/v1/prometheusrules";
  const dashboards = "/api/v1/configmaps?labelSelector=grafana_dashboard";
  const of = (objects: Readonly<Record<string, unknown>>) =>
    read(clusterReaders(apiserver(objects)).metricUsers);
  const metric = "kubeproxy_sync_proxy_rules_iptables_total";
  assert.deepEqual(
    valueOf(
      await of({
        [path]: { items: [rule(`rate(${metric}[5m]) + ${metric}`), rule("up")] },
        [dashboards]: { items: [rule("node_ipvs_connections_total")] },
      }),
    ),
    [
      { where: "PrometheusRule monitoring/proxy", metrics: [metric] },
      { where: "ConfigMap monitoring/proxy", metrics: ["node_ipvs_connections_total"] },
    ],
  );
  assert.deepEqual(valueOf(await of({ [dashboards]: { items: [] } })), []);
  assert.equal((await read(clusterReaders(apiserver({}, forbidden)).metricUsers)).kind, "lacking");
});

Deno.test("rights are asked for each verb and each kind", async () => {
  const asked: JsonQuestion[] = [];
  const { access } = clusterReaders((question) => {
    asked.push(question);
    const allowed = !JSON.stringify(question.body).includes("endpointslices");
    return Promise.resolve({ kind: "value", value: { status: { allowed } } });
  });
  assert.deepEqual(valueOf(await read(access)).denied, [
    "list endpointslices.discovery.k8s.io",
    "watch endpointslices.discovery.k8s.io",
  ]);
  assert.equal(asked.length, 10);
  assert.ok(
    asked.every(({ method, path }) =>
      method === "POST" && path === "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    ),
  );
  assert.equal((await read(clusterReaders(apiserver({}, forbidden)).access)).kind, "lacking");
});

const wrong = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
moed: ipvs
mode: iptables
`;

Deno.test("configurationReader() reads files strictly, and as run would", async () => {
  await withHost({ "/proxy.yaml": wrong }, async (root) => {
    const paths = [`${root}/proxy.yaml`];
    const reader = configurationReader({ paths, requestJson: apiserver({}) });
    const { configuration, problems, where } = valueOf(await read(reader));
    assert.equal(where, paths[0]);
    assert.equal(problems.length, 1);
    assert.match(problems[0], /3:1: moed: .*did you mean "mode"\?/);
    assert.equal(configuration?.mode, "iptables");
  });
});

Deno.test("configurationReader() reads the ConfigMap where no file is named", async () => {
  const path = "/api/v1/namespaces/kube-system/configmaps/kube-proxy";
  const data = { "config.conf": wrong };
  const found = await read(
    configurationReader({ paths: [], requestJson: apiserver({ [path]: { data } }) }),
  );
  assert.equal(valueOf(found).where, "configmap kube-system/kube-proxy");
  assert.equal(valueOf(found).configuration?.mode, "iptables");
  const none = await read(configurationReader({ paths: [], requestJson: apiserver({}) }));
  assert.equal(none.kind, "absent");
});

Deno.test("configurationReader() tells a configuration that nobody can read", async () => {
  const path = "/api/v1/namespaces/kube-system/configmaps/kube-proxy";
  const data = { "config.conf": "mode: [" };
  const found = await read(
    configurationReader({ paths: [], requestJson: apiserver({ [path]: { data } }) }),
  );
  assert.equal(valueOf(found).configuration, undefined);
  assert.ok(valueOf(found).problems.length > 0);
});
