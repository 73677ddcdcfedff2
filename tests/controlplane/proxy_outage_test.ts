/** The program without its apiserver for a while: Services work on, and what changed meanwhile is soon true. */
import assert from "node:assert/strict";
import { controlPlaneAddresses } from "./rig/network.ts";
import { away, unreachable } from "./rig/follow.ts";
import { ProxyFiles } from "./rig/proxy_files.ts";
import { ourProgram, ProxyProcess } from "./rig/proxy_process.ts";
import { Quiet } from "./rig/quiet.ts";
import { nodeName, SmallCluster, untilAnsweredBy } from "./rig/small_cluster.ts";
import {
  createWeb,
  startWebLoad,
  webAddress,
  webConnectionsPerSecond,
  webSlice,
} from "./rig/web_service.ts";

/** `KUBE_PROXY_TEST_FULL=1` makes outages as long as in the field. */
const OUTAGE_MS = Deno.env.get("KUBE_PROXY_TEST_FULL") ? 20_000 : 5_000;
/** As long as silence is believed: after it the program itself sees to a connection that works. */
const BLACK_HOLE_MS = 20_000;
const EFFECTIVE_MS = 3_000;

Deno.test("Services work on while the apiserver is away, and changes arrive soon after", async (test) => {
  await using cluster = await SmallCluster.create();
  const { api, plane } = cluster;
  await createWeb(cluster);
  await using files = await ProxyFiles.create(plane.access, { clusterCIDR: "10.128.0.0/14" });
  await using process = new ProxyProcess({
    program: ourProgram(),
    namespace: cluster.node,
    args: files.args(nodeName),
  });
  await process.inSync();
  const quiet = await Quiet.since(process, { plane, without: ["namespaces"] });
  const endLoad = await startWebLoad(cluster);

  await test.step("killed, and back with changed objects", async () => {
    await plane.stopApiserver();
    await sleep(OUTAGE_MS);
    await plane.startApiserver();
    await api.update(webSlice("b"));
    await untilAnsweredBy("b", webAddress, { deadlineMs: EFFECTIVE_MS });
    await quiet.check({ says: away, lists: 4, watches: 16 });
  });

  await test.step("a network that loses everything, and says nothing", async () => {
    const { IPv4 } = controlPlaneAddresses;
    const hole = `table inet hole {
      chain in { type filter hook input priority 0; ip saddr ${IPv4} tcp sport 6443 drop; }
      chain out { type filter hook output priority 0; ip daddr ${IPv4} tcp dport 6443 drop; }
    }`;
    await cluster.onNode(["nft", "-f", "-"], hole);
    await api.update(webSlice("a"));
    await sleep(BLACK_HOLE_MS);
    await cluster.onNode(["nft", "delete", "table", "inet", "hole"]);
    await untilAnsweredBy("a", webAddress, { deadlineMs: EFFECTIVE_MS });
    await quiet.check({ says: [unreachable], watches: 4 });
  });

  const { attempts, failed } = await endLoad();
  assert.deepEqual(failed, {});
  assert.ok(attempts > webConnectionsPerSecond * (OUTAGE_MS + BLACK_HOLE_MS) / 1000);
  assert.ok(process.isRunning);
});

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
