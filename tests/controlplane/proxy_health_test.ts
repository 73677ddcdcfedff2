/** What load balancers and probes see of the program: its states, and the health-check ports of Services. */
import assert from "node:assert/strict";
import { ProxyFiles } from "./rig/proxy_files.ts";
import { assertContent } from "./rig/quiet.ts";
import { ourProgram, ProxyProcess } from "./rig/proxy_process.ts";
import {
  namespaceName,
  nodeAddresses,
  nodeName,
  nodeObject,
  podAddresses,
  SmallCluster,
} from "./rig/small_cluster.ts";
import { endpointSliceObject, serviceObject } from "./rig/objects.ts";
import { TableOwner, until } from "./rig/table_owner.ts";

const health = `http://${nodeAddresses.IPv4}:10256`;
/** The apiserver chooses none below 30086 by itself. */
const healthCheckNodePort = 30_085;
const DEADLINE_MS = 10_000;

interface Start {
  readonly nodePortAddresses: readonly string[];
  /** The warnings and errors that there may be. */
  readonly says?: readonly RegExp[];
}

Deno.test("health pages and ports of the program beside a real apiserver", async (test) => {
  await using cluster = await SmallCluster.create();
  const { api } = cluster;
  await api.create(localService());
  const slice = endpointSliceObject({
    namespace: namespaceName,
    name: "lb-4",
    service: "lb",
    addresses: [podAddresses.a.IPv4],
  });
  const onNode = (object: typeof slice) => ({
    ...object,
    endpoints: [{
      addresses: [podAddresses.a.IPv4],
      conditions: { ready: true },
      nodeName,
    }],
  });
  await api.create(onNode(slice));

  const starting = async (
    { nodePortAddresses, says }: Start,
    body: (p: ProxyProcess) => Promise<void>,
  ) => {
    await using files = await ProxyFiles.create(cluster.plane.access, {
      clusterCIDR: "10.128.0.0/14",
      syncPeriod: "1s",
      nodePortAddresses,
    });
    await using process = new ProxyProcess({
      program: ourProgram(),
      namespace: cluster.node,
      args: files.args(nodeName),
    });
    await body(process);
    assertContent(process, says);
  };

  const choices: readonly (readonly [name: string, start: Start])[] = [
    ["the primary addresses", { nodePortAddresses: ["primary"] }],
    ["all addresses", { nodePortAddresses: ["0.0.0.0/0", "::/0"] }],
    ["addresses by default", { nodePortAddresses: [] }],
  ];
  for (const [name, start] of choices) {
    await test.step(`a health-check port on ${name} answers each family with its own count`, async () => {
      await starting(start, async (process) => {
        await process.inSync();
        await until("weight 1 by IPv4", DEADLINE_MS, async () => {
          return (await weight(nodeAddresses.IPv4)) === "200 1";
        });
        assert.equal(await weight(`[${nodeAddresses.IPv6}]`), "503 0");
        await api.update({ ...slice, endpoints: [] });
        await until("weight 0 by IPv4", DEADLINE_MS, async () => {
          return (await weight(nodeAddresses.IPv4)) === "503 0";
        });
        await api.update(onNode(slice));
      });
    });
  }

  await test.step("until its first sync it is alive and not to be sent traffic", async () => {
    await cluster.deleteRules();
    const owner = await TableOwner.take(cluster);
    const says = [/"Sync failed"/];
    await starting({ nodePortAddresses: ["primary"], says }, async (process) => {
      await process.said("Sync failed");
      const seen = await codes();
      assert.equal(seen.healthz, 503);
      // Twice the sync period without success is the end of being alive.
      await until("both pages at 503", DEADLINE_MS, async () => (await codes()).livez === 503);
      assert.equal((await codes()).healthz, 503);
      await owner.release();
      await until("both pages at 200", DEADLINE_MS, async () => {
        const { healthz, livez } = await codes();
        return healthz === 200 && livez === 200;
      });
    });
  });

  await test.step("a Node that is being deleted is alive and not to be sent traffic", async () => {
    await starting({ nodePortAddresses: ["primary"] }, async (process) => {
      await process.inSync();
      await api.patch(nodeObject(), { metadata: { finalizers: ["example.com/hold"] } });
      await api.delete(nodeObject());
      await until("503", DEADLINE_MS, async () => (await codes()).healthz === 503);
      assert.equal((await codes()).livez, 200);
      assert.equal(process.isRunning, true);
      const { body } = await ask(`${health}/healthz`);
      assert.match(body, /"nodeEligible":false,"healthy":true/);
    });
  });
});

function localService() {
  return serviceObject({
    namespace: namespaceName,
    name: "lb",
    spec: {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      ipFamilyPolicy: "RequireDualStack",
      healthCheckNodePort,
    },
  });
}

async function ask(url: string) {
  const response = await fetch(url);
  const weight = response.headers.get("x-load-balancing-endpoint-weight");
  return { status: response.status, weight, body: await response.text() };
}

async function weight(host: string): Promise<string> {
  try {
    const { status, weight } = await ask(`http://${host}:${healthCheckNodePort}/`);
    return `${status} ${weight}`;
  } catch (error) {
    return String(error);
  }
}

async function codes(): Promise<{ readonly healthz: number; readonly livez: number }> {
  const [healthz, livez] = await Promise.all(
    ["/healthz", "/livez"].map((path) => ask(health + path).then(({ status }) => status, () => 0)),
  );
  return { healthz, livez };
}
