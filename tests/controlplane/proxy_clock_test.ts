/**
 * The node's wall clock jumps by more than a day, forth and back, under the running program, and the
 * apiserver goes and comes back meanwhile: no connection to a Service notices any of it.
 */
import assert from "node:assert/strict";
import { away } from "./rig/follow.ts";
import { ProxyFiles } from "./rig/proxy_files.ts";
import { ourProgram, ProxyProcess } from "./rig/proxy_process.ts";
import { Quiet } from "./rig/quiet.ts";
import {
  nodeAddresses,
  nodeName,
  type PodName,
  SmallCluster,
  untilAnsweredBy,
} from "./rig/small_cluster.ts";
import {
  createWeb,
  startWebLoad,
  webAddress,
  webConnectionsPerSecond,
  webSlice,
} from "./rig/web_service.ts";

const page = `http://${nodeAddresses.IPv4}`;
const JUMP_HOURS = 26;
const EFFECTIVE_MS = 3_000;

/** Preloaded, it adds what the file says to the time that a program sees. */
async function fakeClockLibrary(): Promise<string> {
  for await (const { name } of Deno.readDir("/usr/lib")) {
    const path = `/usr/lib/${name}/faketime/libfaketime.so.1`;
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  throw new Error("Cannot find libfaketime; run scripts/bootstrap controlplane");
}

Deno.test("a clock that jumps neither stops changes nor makes the node unhealthy", async (test) => {
  await using cluster = await SmallCluster.create();
  const { api, plane } = cluster;
  await createWeb(cluster);
  await using files = await ProxyFiles.create(plane.access, {
    clusterCIDR: "10.128.0.0/14",
    metricsBindAddress: "0.0.0.0:10249",
  });
  const clockFile = await Deno.makeTempFile({ prefix: "kube-proxy-clock-" });
  await Deno.writeTextFile(clockFile, "+0");
  const { name, argv } = ourProgram();
  const environment = [
    `LD_PRELOAD=${await fakeClockLibrary()}`,
    `FAKETIME_TIMESTAMP_FILE=${clockFile}`,
    "FAKETIME_NO_CACHE=1",
    "FAKETIME_DONT_FAKE_MONOTONIC=1",
    "DONT_FAKE_MONOTONIC=1",
  ];
  let pod: PodName = "a";
  const change = async () => {
    pod = pod === "a" ? "b" : "a";
    await api.update(webSlice(pod));
    await untilAnsweredBy(pod, webAddress, { deadlineMs: EFFECTIVE_MS });
  };
  const isWell = async () => {
    for (const path of ["healthz", "livez"]) {
      const { status, body } = await fetch(`${page}:10256/${path}`);
      await body?.cancel();
      assert.equal(status, 200, path);
    }
  };
  try {
    await using process = new ProxyProcess({
      program: { name, argv: ["env", ...environment, ...argv] },
      namespace: cluster.node,
      args: files.args(nodeName),
    });
    await process.inSync();
    const quiet = await Quiet.since(process, { plane, without: ["namespaces"] });
    await change();
    const endLoad = await startWebLoad(cluster);
    for (const [direction, offset] of [["forth", `+${JUMP_HOURS}h`], ["back", "+0"]]) {
      await test.step(`${JUMP_HOURS} hours ${direction}`, async () => {
        const before = await lastSync();
        await Deno.writeTextFile(clockFile, offset);
        await isWell();
        for (let i = 0; i < 5; i++) await change();
        const hours = (await lastSync() - before) / 3600;
        assert.equal(Math.round(Math.abs(hours)), JUMP_HOURS, "the program saw the jump");
        await isWell();
        await quiet.check();
        await plane.stopApiserver();
        await plane.startApiserver();
        await change();
        await isWell();
        await quiet.check({ says: away, lists: 4, watches: 16 });
      });
    }
    assert.ok(process.isRunning);
    const { attempts, failed } = await endLoad();
    assert.deepEqual(failed, {});
    assert.ok(attempts > webConnectionsPerSecond, `${attempts} connections`);
  } finally {
    await Deno.remove(clockFile);
  }
});

/** When the program last synced, in seconds since the epoch by its own clock. */
async function lastSync(): Promise<number> {
  const metrics = await (await fetch(`${page}:10249/metrics`)).text();
  const line = /^kubeproxy_sync_proxy_rules_last_timestamp_seconds\{ip_family="IPv4"\} (\S+)$/m;
  const [, seconds] = line.exec(metrics) ?? [];
  assert.ok(seconds, "the metric is there");
  return Number(seconds);
}
