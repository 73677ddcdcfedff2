/** How the program starts, changes and ends beside a real apiserver: exit codes, rules that stay, refusals. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { away } from "./rig/follow.ts";
import { assertContent } from "./rig/quiet.ts";
import { ourProgram, ProxyProcess } from "./rig/proxy_process.ts";
import { type KubeadmSettings, ProxyFiles } from "./rig/proxy_files.ts";
import {
  namespaceName,
  nodeAddresses,
  nodeName,
  nodeObject,
  podAddresses,
  SmallCluster,
  untilAnsweredBy,
  whoAnswers,
} from "./rig/small_cluster.ts";
import { endpointSliceObject, serviceObject } from "./rig/objects.ts";

const clusterIP = "172.30.0.10";
const END_DEADLINE_MS = 1_000;
const healthz = `http://${nodeAddresses.IPv4}:10256`;
const clusterCIDR = "10.128.0.0/14";

type Settings = Omit<KubeadmSettings, "kubeconfig">;

interface Started extends AsyncDisposable {
  readonly process: ProxyProcess;
  readonly files: ProxyFiles;
}

async function start(
  cluster: SmallCluster,
  { settings = {}, args = [], says = [] }: {
    readonly settings?: Settings;
    readonly args?: readonly string[];
    /** The warnings and errors that there may be. */
    readonly says?: readonly RegExp[];
  } = {},
): Promise<Started> {
  const files = await ProxyFiles.create(cluster.plane.access, { clusterCIDR, ...settings });
  const process = new ProxyProcess({
    program: ourProgram(),
    namespace: cluster.node,
    args: [...files.args(nodeName), ...args],
  });
  return {
    process,
    files,
    [Symbol.asyncDispose]: async () => {
      await process[Symbol.asyncDispose]();
      await files[Symbol.asyncDispose]();
      // Whoever expects the program to end with 1 asks for the reason as well.
      assertContent(process, [/"command failed"/, ...says]);
    },
  };
}

async function within<T>(milliseconds: number, what: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`Cannot wait longer than ${milliseconds} ms`)),
    milliseconds,
  );
  try {
    return await Promise.race([what, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function status(url: string): Promise<number> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.status;
}

async function untilStatus(url: string, wanted: number): Promise<void> {
  const deadline = Date.now() + 10_000;
  let last: number | string = "";
  while (Date.now() < deadline) {
    last = await status(url).catch(String);
    if (last === wanted) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Cannot see ${wanted} at ${url}: it is ${last}`);
}

Deno.test("the program starts, changes and ends as a node's supervisor expects", async (test) => {
  await using cluster = await SmallCluster.create();
  const { api } = cluster;
  await api.create(serviceObject({ namespace: namespaceName, name: "web", spec: { clusterIP } }));
  const slice = endpointSliceObject({
    namespace: namespaceName,
    name: "web",
    addresses: [podAddresses.a.IPv4],
  });
  await api.create(slice);

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await test.step(`${signal} ends it within a second with exit code 0, and the rules stay`, async () => {
      await using proxy = await start(cluster);
      await proxy.process.inSync();
      assert.equal(await within(END_DEADLINE_MS, proxy.process.end(signal)), 0);
      assert.equal(await whoAnswers(clusterIP), "a");
    });
  }

  await test.step("--dry-run prints the rules and touches nothing", async () => {
    await cluster.deleteRules();
    await using proxy = await start(cluster, { args: ["--dry-run"] });
    assert.equal(await within(20_000, proxy.process.ended), 0, proxy.process.log());
    assert.match(proxy.process.stdout, /172\.30\.0\.10/);
    assert.equal(await whoAnswers(clusterIP), undefined);
  });

  await test.step("--init-only prepares the node and writes no rules", async () => {
    await using proxy = await start(cluster, { args: ["--init-only"] });
    assert.equal(await within(20_000, proxy.process.ended), 0, proxy.process.log());
    assert.equal(await whoAnswers(clusterIP), undefined);
  });

  await test.step("--once programs the node and ends", async () => {
    await using proxy = await start(cluster, { args: ["--once"] });
    assert.equal(await within(20_000, proxy.process.ended), 0, proxy.process.log());
    assert.equal(await whoAnswers(clusterIP), "a");
  });

  await test.step("a configuration written in place ends it with 1; touched or replaced by rename it goes on", async () => {
    await using proxy = await start(cluster);
    const { files, process } = proxy;
    await process.inSync();
    await Deno.utime(files.config, new Date(), new Date());
    await Deno.copyFile(files.config, `${files.config}.new`);
    await Deno.rename(`${files.config}.new`, files.config);
    // Something that the program does afterwards shows that it goes on.
    await api.update({ ...slice, endpoints: [{ addresses: [podAddresses.b.IPv4] }] });
    await untilAnsweredBy("b", clusterIP);
    assert.ok(process.isRunning, process.log());
    await api.update(slice);
    await untilAnsweredBy("a", clusterIP);

    await using other = await start(cluster, {
      settings: { metricsBindAddress: "127.0.0.1:10250", healthzBindAddress: "127.0.0.1:10257" },
    });
    await other.process.inSync();
    await Deno.writeTextFile(other.files.config, "\n", { append: true });
    assert.equal(await within(5_000, other.process.ended), 1);
    assert.match(other.process.log(), /Content of the config file .* was updated/);
  });

  await test.step("a Node marked by the autoscaler gets no traffic, and is alive", async () => {
    await using proxy = await start(cluster);
    await proxy.process.inSync();
    await untilStatus(`${healthz}/healthz`, 200);
    const taint = { key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" };
    await api.patch(nodeObject(), { spec: { taints: [taint] } });
    await untilStatus(`${healthz}/healthz`, 503);
    assert.equal(await status(`${healthz}/livez`), 200);
    await api.patch(nodeObject(), { spec: { taints: null } });
    await untilStatus(`${healthz}/healthz`, 200);
    assert.equal(proxy.process.isRunning, true);
  });

  await test.step("another address of the Node ends it with 1", async () => {
    await using proxy = await start(cluster);
    await proxy.process.inSync();
    const addresses = [{ type: "InternalIP", address: "192.168.0.78" }];
    await api.patch(nodeObject(), { status: { addresses } }, "status");
    assert.equal(await within(5_000, proxy.process.ended), 1);
    assert.match(proxy.process.log(), /NodeIPs changed for the node/);
    await api.patch(nodeObject(), { status: nodeObject().status }, "status");
  });

  await test.step("NodeCIDR mode takes the Node's pod range", async () => {
    await using proxy = await start(cluster, {
      settings: { detectLocalMode: "NodeCIDR", clusterCIDR: "" },
    });
    await proxy.process.inSync();
    const table = await cluster.onNode(["nft", "list", "table", "ip", "kube-proxy"]);
    assert.match(table, /ip saddr != 10\.128\.0\.0\/24/);
  });

  await test.step("a deleted Node ends it with 1", async () => {
    await using proxy = await start(cluster);
    await proxy.process.inSync();
    await api.delete(nodeObject());
    assert.equal(await within(5_000, proxy.process.ended), 1);
    assert.match(proxy.process.log(), /Node is being deleted/);
    await api.create(nodeObject());
  });

  await test.step("a mode that the kernel cannot run is refused in one sentence, one that it can runs", async () => {
    const says = [/may be incomplete/, /ipvs mode is deprecated/i];
    await using proxy = await start(cluster, { settings: { mode: "ipvs" }, says });
    if (existsSync("/proc/net/ip_vs")) return await proxy.process.inSync();
    assert.equal(await within(20_000, proxy.process.ended), 1);
    assert.match(
      proxy.process.log(),
      /Cannot use IPVS: the kernel module \\"ip_vs\\" is not loaded.*; run \\"modprobe ip_vs\\"/,
    );
  });

  await test.step("without a mode it runs iptables mode and says so", async () => {
    await cluster.deleteRules();
    {
      const says = [/No mode is set: that means iptables until/, /may be incomplete/];
      await using proxy = await start(cluster, { settings: { mode: "" }, says });
      await proxy.process.inSync();
    }
    await cluster.deleteRules({ kind: "iptables", backend: "nft" });
  });

  await test.step("a taken port ends it with 1 where failing hard is configured, else it is tried again", async () => {
    await using holder = await start(cluster);
    await holder.process.inSync();
    await using hard = await start(cluster, { settings: { bindAddressHardFail: true } });
    assert.equal(await within(20_000, hard.process.ended), 1);
    assert.match(hard.process.log(), /Cannot serve the (healthz|metrics) server/);
    await using soft = await start(cluster, { says: [/trying again in 5 s/] });
    await soft.process.inSync();
    await soft.process.said("trying again in 5 s");
    assert.equal(soft.process.isRunning, true);
  });

  await test.step("an apiserver that is away at the start is waited for", async () => {
    await cluster.deleteRules();
    await cluster.plane.stopApiserver();
    await using proxy = await start(cluster, { says: away });
    await untilStatus(`${healthz}/livez`, 200).catch(() => {});
    assert.ok(proxy.process.isRunning, proxy.process.log());
    await cluster.plane.startApiserver();
    await proxy.process.inSync();
    assert.equal(await whoAnswers(clusterIP), "a");
  });
});
