/** `doctor` as a process beside a real apiserver: with a proxy's own rights, with too few, with all, and beside a server that hangs. */
import assert from "node:assert/strict";
import { FakeApiserver } from "../fakes/apiserver.ts";
import { tryCommand } from "../kernel/rig/command.ts";
import { inNetworkNamespace } from "../../lib/kernel/netns.ts";
import { ourProgramArgv } from "../kernel/rig/our_program.ts";
import { Seen } from "../lib/doctor/showings.ts";
import { podCIDRs } from "../scenarios/addresses.ts";
import type { ManifestObject } from "./rig/api.ts";
import type { ControlPlaneAccess } from "./rig/control_plane.ts";
import { ProxyFiles } from "./rig/proxy_files.ts";
import { nodeName, SmallCluster } from "./rig/small_cluster.ts";
import { createWeb } from "./rig/web_service.ts";

const seen = new Seen("cluster");

interface Told {
  readonly code: number;
  readonly seconds: number;
  readonly from: string | null;
  readonly verdict: { readonly canMove: boolean | null; readonly because: readonly string[] };
  readonly evidence: (id: string) => string;
  readonly result: (id: string) => string | undefined;
}

async function examine(cluster: SmallCluster, args: readonly string[]): Promise<Told> {
  const startedAt = performance.now();
  const argv = ["ip", "netns", "exec", cluster.node, ...ourProgramArgv(), "doctor", "-o", "json"];
  const { code, stderr, stdout } = await tryCommand([
    ...argv,
    ...args,
    `--node=${nodeName}`,
    "--skip=NET05",
  ]);
  const seconds = (performance.now() - startedAt) / 1_000;
  assert.ok(stdout !== "", stderr);
  const { checks, from, verdict } = JSON.parse(stdout);
  seen.add(checks);
  const byId = new Map<string, { result: string; evidence: readonly string[] }>(
    checks.map((each: { id: string }) => [each.id, each]),
  );
  return {
    code,
    seconds,
    from,
    verdict,
    evidence: (id) => byId.get(id)?.evidence.join("\n") ?? "",
    result: (id) => byId.get(id)?.result,
  };
}

async function withFiles<T>(
  access: ControlPlaneAccess,
  use: (files: ProxyFiles) => Promise<T>,
): Promise<T> {
  const clusterCIDR = `${podCIDRs.IPv4},${podCIDRs.IPv6}`;
  await using files = await ProxyFiles.create(access, { mode: "ipvs", clusterCIDR });
  return await use(files);
}

const configMap = (text: string): ManifestObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "kube-proxy", namespace: "kube-system" },
  data: { "config.conf": text },
});

const alert: ManifestObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "panels", namespace: "kube-system", labels: { grafana_dashboard: "1" } },
  data: { "a.json": '{"expr": "rate(kubeproxy_sync_proxy_rules_iptables_total[1m])"}' },
};

Deno.test("doctor beside a real apiserver", async (test) => {
  await using cluster = await SmallCluster.create();
  const { access } = cluster.plane;
  await createWeb(cluster);

  await test.step("with a proxy's own rights it rehearses what the apiserver has", () =>
    withFiles(access, async (files) => {
      const told = await examine(cluster, ["--config", files.config]);
      assert.equal(told.from, "ipvs");
      assert.equal(told.result("DRY01"), "pass", told.evidence("DRY01"));
      assert.match(told.evidence("DRY01"), /packets to all \d+ frontends .*: all as they should/);
      assert.match(told.evidence("CFG06"), /left until ipvs mode is gone/);
      // Its role has no right to see Namespaces and DaemonSets.
      assert.equal(told.result("CFG07"), "warn", told.evidence("CFG07"));
      assert.equal(told.result("CO06"), "skip");
      assert.match(told.evidence("CO06"), /forbidden/);
      assert.equal(told.verdict.canMove, true, JSON.stringify(told.verdict));
      assert.equal(told.code, 0);
    }));

  await test.step("without rights it says what is not allowed, and does not pass", () =>
    withFiles({ ...access, proxyToken: "nobody" }, async (files) => {
      const told = await examine(cluster, ["--config", files.config]);
      assert.equal(told.result("DRY01"), "skip");
      assert.match(told.evidence("DRY01"), /Unauthorized/);
      assert.equal(told.verdict.canMove, null);
      assert.deepEqual(told.verdict.because, ["DRY01"]);
      assert.equal(told.code, 2);
      assert.ok(told.seconds < 20, `${told.seconds} s`);
    }));

  await test.step("with all rights it reads the ConfigMap of kubeadm, and dashboards", () =>
    withFiles({ ...access, proxyToken: access.adminToken }, async (files) => {
      const text = await Deno.readTextFile(files.config);
      await cluster.api.create(configMap(`${text}portRang: ""\n`));
      await cluster.api.create(alert);
      const told = await examine(cluster, ["--kubeconfig", files.kubeconfig]);
      assert.equal(told.result("CFG01"), "fail");
      assert.match(told.evidence("CFG01"), /portRang/);
      assert.equal(told.result("CFG07"), "pass");
      assert.equal(told.result("CO06"), "pass");
      assert.match(
        told.evidence("CO14"),
        /ConfigMap kube-system\/panels: kubeproxy_sync_proxy_rules_ipt/,
      );
      assert.equal(told.code, 1);
    }));

  await test.step("a server that never answers is given up in time, and the node's checks stand", async () => {
    await using silent = await FakeApiserver.start({
      inside: (listen) => inNetworkNamespace(`/run/netns/${cluster.node}`, listen),
    });
    silent.override = () => new Promise(() => {});
    const hanging = { ...access, url: silent.url, caCertificate: silent.authority.certificate };
    await withFiles(hanging, async (files) => {
      const told = await examine(cluster, ["--config", files.config]);
      assert.equal(told.result("KRN03"), "pass");
      assert.equal(told.result("DRY01"), "skip");
      assert.equal(told.result("CFG07"), "skip");
      assert.match(told.evidence("DRY01"), /no complete answer in 10 s|did not answer/);
      assert.deepEqual([told.verdict.canMove, told.code], [null, 2]);
      assert.ok(told.seconds < 20, `${told.seconds} s`);
    });
  });

  await test.step("all was seen that docs/doctor.md says is shown here", () => seen.assertAll());
});
