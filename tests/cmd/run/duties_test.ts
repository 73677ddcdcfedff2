/** A fault in each of a running proxy's duties: which end the program, with which words, and which do not. */
import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { fakeAddress, FakeLinks } from "../../../lib/kernel/links/fake_links.ts";
import { NetlinkError } from "../../../lib/kernel/netlink/errors.ts";
import { refusal } from "../../fakes/apiserver.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { ownLoopbackAddress } from "../../fakes/own_loopback_address.ts";
import {
  type ApiserverRig,
  nodeKernel,
  nodeName,
  nodeObject,
  type ProxyRun,
  type ProxyRunOptions,
  serviceObject,
  withApiserver,
  withManifests,
} from "./proxy_rig.ts";

/** A proxy of an apiserver that has arrived at rest. */
function atRest(
  options: ProxyRunOptions,
  body: (run: ProxyRun, rig: ApiserverRig) => Promise<void>,
): Promise<void> {
  return withApiserver(async (rig) => {
    const run = rig.run(options);
    await run.said("In sync");
    await run.until("watches", () => rig.apiserver.openWatches.length >= 5);
    await body(run, rig);
  });
}

/** It ended by itself with 1 and that sentence, closed its watches and left its rules. */
async function endedWith(sentence: RegExp, run: ProxyRun, rig: ApiserverRig): Promise<void> {
  assert.equal(await run.ended(), 1, run.stderr);
  assert.match(run.complaints.at(-1) ?? "", sentence);
  await run.until("closed watches", () => rig.apiserver.openWatches.length === 0);
  assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
}

Deno.test("a way to the kernel that dies ends the proxy instead of leaving one that programs nothing", () =>
  atRest({}, async (run, rig) => {
    run.kernel.lose(new Error("Cannot go on with nf_tables: its worker died: out of luck"));
    await endedWith(
      /"command failed" err="Cannot go on with nf_tables: its worker died: out of luck"/,
      run,
      rig,
    );
  }));

const nodeChanges: readonly {
  readonly name: string;
  readonly args?: readonly string[];
  readonly before?: object;
  readonly change: (rig: ApiserverRig) => void;
  readonly says: RegExp;
}[] = [
  {
    name: "deleted",
    change: ({ apiserver }) => apiserver.delete("nodes", { name: nodeName }),
    says: /"command failed" err="Cannot go on: node is being deleted"/,
  },
  {
    name: "another address",
    change: ({ apiserver }) => apiserver.put("nodes", nodeObject("192.168.0.3")),
    says: /"command failed" err="Cannot go on: the addresses of node \\"node-a\\" changed"/,
  },
  {
    name: "other pod CIDRs, where they tell local traffic",
    args: ["--detect-local-mode=NodeCIDR"],
    before: nodeObject("192.168.0.2", { spec: { podCIDRs: ["10.128.0.0/24"] } }),
    change: ({ apiserver }) =>
      apiserver.put(
        "nodes",
        nodeObject("192.168.0.2", { spec: { podCIDRs: ["10.128.1.0/24"] } }),
      ),
    says: /"command failed" err="Cannot go on: the pod CIDRs of node \\"node-a\\" changed"/,
  },
];

Deno.test("a node that is no longer the one that the proxy started with ends it", async (test) => {
  for (const { name, args, before, change, says } of nodeChanges) {
    await test.step(name, () =>
      withApiserver(async (rig) => {
        if (before) rig.apiserver.put("nodes", before as ReturnType<typeof nodeObject>);
        const run = rig.run({ args });
        await run.said("In sync");
        await run.until("watches", () => rig.apiserver.openWatches.length >= 5);
        change(rig);
        await endedWith(says, run, rig);
      }));
  }
});

/** A configuration for a proxy of the rig's apiserver. */
function configFor({ folder }: ApiserverRig, address: string, oomScoreAdj: number): string {
  return JSON.stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha2",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    healthzBindAddress: `${address}:10256`,
    metricsBindAddress: `${address}:10249`,
    clientConnection: { kubeconfig: `${folder}/kubeconfig` },
    linux: {
      oomScoreAdj,
      conntrack: { maxPerCore: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    },
  });
}

Deno.test("a config file that is rewritten ends the proxy", () =>
  withApiserver(async (rig) => {
    const file = `${rig.folder}/config.json`;
    const address = ownLoopbackAddress();
    await Deno.writeTextFile(file, configFor(rig, address, -500));
    const run = rig.run({ args: [`--config=${file}`], address });
    await run.said("In sync");
    await Deno.writeTextFile(file, configFor(rig, address, -400));
    await endedWith(
      /"command failed" err="Content of the config file \\".*config\.json\\" was updated; ending/,
      run,
      rig,
    );
  }));

const servers: readonly {
  readonly name: string;
  readonly port: number;
  readonly reason: string;
}[] = [
  { name: "healthz server", port: 10256, reason: "FailedToStartProxierHealthcheck" },
  { name: "metrics server", port: 10249, reason: "FailedToStartMetricServer" },
];

for (const { name, port, reason } of servers) {
  Deno.test(`a ${name} whose port is taken opens when it is free, and nothing else waits for it`, () =>
    withApiserver(async (rig) => {
      const address = ownLoopbackAddress();
      const taken = Deno.listen({ hostname: address, port });
      const clock = new FakeClock();
      const run = rig.run({ address, clock });
      await run.until("rules", async () => {
        await clock.advance(20);
        return (await run.clusterIPs()).length > 0;
      });
      await run.said(`Serving the ${name} failed; trying again in 5 s`);
      taken.close();
      await clock.advance(5_000);
      await run.until("the page", async () => {
        const answer = await fetch(`http://${address}:${port}/livez`).catch(() => undefined);
        await answer?.body?.cancel();
        return answer !== undefined;
      });
      assert.equal(await run.end(), 0);
    }));

  Deno.test(`a ${name} whose port is taken ends the proxy where that is asked for, and the node is told`, () =>
    withApiserver(async (rig) => {
      const address = ownLoopbackAddress();
      using _taken = Deno.listen({ hostname: address, port });
      const run = rig.run({ address, args: ["--bind-address-hard-fail"] });
      assert.equal(await run.ended(), 1);
      assert.match(
        run.complaints.join("\n"),
        new RegExp(`"command failed" err="Cannot serve the ${name} on .* port ${port}: `),
      );
      const told = rig.apiserver.requests.filter(({ path }) => path.endsWith("/events"));
      assert.ok(told.some(({ body }) => JSON.parse(body).reason === reason), "nobody was told why");
    }));
}

Deno.test("an apiserver that refuses Events is told of once, and serves on", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.override = ({ path }) =>
      path.endsWith("/events")
        ? refusal({ code: 403, reason: "Forbidden", message: "events are forbidden" })
        : undefined;
    const run = start();
    await run.said("The apiserver refused an event");
    await run.said("In sync");
    assert.equal(run.complaints.length, 1);
    assert.equal(await run.end(), 0);
  }));

Deno.test("a kernel that refuses the OOM score is no reason to stop", () =>
  withManifests({
    kernel: nodeKernel({ self: new FakeSelf({ oomScoreRefusals: Infinity }) }),
    args: ["-v=2"],
  }, async (run) => {
    await run.said("Failed to apply OOMScore");
    await run.said("In sync");
    assert.deepEqual(run.complaints, []);
    assert.equal(await run.end(), 0);
  }));

Deno.test("addresses that cannot be listed for a while are followed again", () => {
  const kernel = nodeKernel();
  const { links } = kernel;
  return atRest({ kernel, args: ["--nodeport-addresses=192.168.0.0/16"] }, async (run, rig) => {
    rig.apiserver.put(
      "services",
      serviceObject("web", "172.30.0.10", {
        type: "NodePort",
        ports: [{ port: 80, protocol: "TCP", nodePort: 30080 }],
      }),
    );
    const list = links.addresses.bind(links);
    links.addresses = () => {
      throw new NetlinkError({ op: "list interface addresses", errno: Errno.EINTR });
    };
    const added = [...list(), fakeAddress("192.168.7.7")];
    links.setAddresses(added);
    await run.said("Cannot follow the addresses of this node's interfaces; trying again in 1 s");
    links.addresses = list;
    await run.until("rules for the new address", () => {
      const written = JSON.stringify(kernel.tables.commits.map(({ operations }) => operations));
      return written.includes("192.168.7.7");
    });
    assert.equal(await run.end(), 0);
  });
});

Deno.test("a health-check node port that cannot be opened is told on the Service, and its rules are in force", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    // No machine has this address: it is for documentation.
    const links = new FakeLinks({ addresses: [fakeAddress("192.0.2.7")] });
    apiserver.put(
      "services",
      serviceObject("web", "172.30.0.10", {
        type: "LoadBalancer",
        externalTrafficPolicy: "Local",
        healthCheckNodePort: 32000,
      }),
    );
    const run = start({
      kernel: nodeKernel({ links }),
      args: ["--nodeport-addresses=192.0.2.0/24"],
    });
    await run.said("In sync");
    await run.said("Failed to start healthcheck");
    const events = () =>
      apiserver.requests.filter(({ path }) => path.endsWith("/namespaces/shop/events"))
        .map(({ body }) => JSON.parse(body));
    await run.until("the Event", () => events().length > 0);
    const [{ reason, regarding, note }] = events();
    assert.deepEqual([reason, regarding.kind, regarding.name], [
      "FailedToStartServiceHealthcheck",
      "Service",
      "web",
    ]);
    assert.match(note, /^node node-a failed to start healthcheck "shop\/web" on port 32000: /);
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
    assert.equal(await run.end(), 0);
  }));

Deno.test("health-check node ports answer while the proxy runs, and close with it", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    listener.close();
    apiserver.put(
      "services",
      serviceObject("web", "172.30.0.10", {
        type: "LoadBalancer",
        externalTrafficPolicy: "Local",
        healthCheckNodePort: port,
      }),
    );
    const run = start({ args: ["--nodeport-addresses=0.0.0.0/0,::/0"] });
    await run.said("In sync");
    const ask = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.status;
    };
    await run.until("the answer", async () => await ask() === 200);
    assert.equal(await run.end(), 0);
    assert.equal(await ask(), undefined);
  }));

Deno.test("a duty that fails as nobody foresaw ends all the others with its sentence", () => {
  const clock = new FakeClock();
  const kernel = nodeKernel();
  kernel.self.returnFreeMemory = () => {
    throw new Error("Cannot return free memory: out of luck");
  };
  return withApiserver(async (rig) => {
    const run = rig.run({ kernel, clock });
    await run.until("rules", async () => {
      await clock.advance(20);
      return run.stderr.includes("In sync");
    });
    await clock.advance(10_000);
    await endedWith(/"command failed" err="Cannot return free memory: out of luck"/, run, rig);
    await assert.rejects(fetch(`http://${run.address}:10256/livez`), TypeError);
  });
});
