/** The watches against a real apiserver that is killed, cut off, and asked for what is long gone. */
import assert from "node:assert/strict";
import { systemClock as clock } from "../../lib/base/clock.ts";
import type { Service } from "../../lib/kube/objects.ts";
import { services } from "../../lib/kube/resource.ts";
import { ApiError } from "../../lib/kube/status.ts";
import { type CollectingLog, createTestClient, type Follower } from "../fakes/kube_client.ts";
import { ApiClient } from "./rig/api.ts";
import { ControlPlane } from "./rig/control_plane.ts";
import { away, followServices, fullStates, unreachable } from "./rig/follow.ts";
import { namespaceObject, serviceObject } from "./rig/objects.ts";

Deno.test("watches of a real apiserver", async (test) => {
  await using plane = await ControlPlane.start();
  const { access } = plane;
  {
    using api = new ApiClient(access);
    await api.create(namespaceObject("shop"));
  }
  const create = async (name: string, labels: Readonly<Record<string, string>> = {}) => {
    using api = new ApiClient(access);
    await api.create(serviceObject({ namespace: "shop", name, labels }));
  };

  await test.step("changes arrive, and those of other proxies do not", async () => {
    await followServices(access, {}, async (follower) => {
      const proxyName = "service.kubernetes.io/service-proxy-name";
      await create("others", { [proxyName]: "other" });
      await create("mine");
      await follower.until("mine", () => follower.objects.has("shop/mine"));
      assert.ok(!follower.objects.has("shop/others"));
      using api = new ApiClient(access);
      const mine = serviceObject({ namespace: "shop", name: "mine" });
      await api.patch(mine, { metadata: { labels: { [proxyName]: "other" } } });
      await follower.until("mine gone", () => !follower.objects.has("shop/mine"));
      await api.patch(mine, { metadata: { labels: { [proxyName]: null } } });
      await follower.until("mine back", () => follower.objects.has("shop/mine"));
    });
  });

  /** Kills the apiserver; once it is back, a change arrives within 3 s. */
  const killAndChange = async (follower: Follower<Service>, name: string) => {
    await plane.stopApiserver();
    await clock.sleep(5_000);
    await plane.startApiserver();
    const ready = clock.monotonic();
    await create(name);
    await follower.until("the change", () => follower.objects.has(`shop/${name}`));
    assert.ok(clock.monotonic() - ready < 3_000, `${clock.monotonic() - ready} ms`);
  };

  await test.step("a killed apiserver: a list only if it refuses the version that was held", async () => {
    await followServices(access, { says: away }, async (follower, log) => {
      await killAndChange(follower, "after-the-kill");
      assert.equal(fullStates(follower), 1 + refusals(log), log.details.join("\n"));
    });
  });

  await test.step("a killed apiserver after writes elsewhere, which it forgot: one list", async () => {
    await followServices(access, { says: away }, async (follower, log) => {
      using api = new ApiClient(access);
      await api.create(namespaceObject("elsewhere"));
      await killAndChange(follower, "after-the-second-kill");
      assert.equal(refusals(log), 1, log.details.join("\n"));
      assert.equal(fullStates(follower), 2);
    });
  });

  await test.step("a half-open connection is noticed, and what was missed arrives", async () => {
    // Nobody waits for the end of the question: a fresh connection is tried beside the old one.
    const options = {
      timing: { connectionSilenceMs: 1_000 },
      probeTimeoutMs: 30_000,
      says: [unreachable],
    };
    await followServices(access, options, async (follower) => {
      await create("before-the-cut");
      await follower.until("the watch", () => follower.objects.has("shop/before-the-cut"));
      const ports = establishedPorts();
      nft("add table inet cut");
      nft("add chain inet cut out { type filter hook output priority 0; }");
      nft(`add rule inet cut out tcp sport { ${ports} } drop`);
      nft(`add rule inet cut out tcp dport { ${ports} } drop`);
      const cut = clock.monotonic();
      await create("during-the-cut");
      await follower.until("the change", () => follower.objects.has("shop/during-the-cut"), 20_000);
      nft("delete table inet cut");
      assert.ok(clock.monotonic() - cut < 5_000, `${clock.monotonic() - cut} ms`);
      assert.equal(fullStates(follower), 1);
    });
  });

  await test.step("a version that is long gone is an expired one", async () => {
    const { client, transport } = createTestClient({
      url: access.url,
      caCertificate: access.caCertificate,
      access: { token: { kind: "inline", text: access.proxyToken } },
    });
    const signal = AbortSignal.timeout(10_000);
    const options = { resourceVersion: "1", timeoutSeconds: 5, signal };
    const events = client.watch(services, options);
    try {
      const { value: [event] } = await events.next();
      assert.equal(event.kind, "error");
      assert.ok(new ApiError("", event.status).isExpired);
    } catch (error) {
      assert.ok(error instanceof ApiError && error.isExpired, String(error));
    } finally {
      await events.return(undefined);
      transport[Symbol.dispose]();
    }
  });
});

/**
 * How often the server said that it does not know the version any more: one that starts knows nothing
 * of the time before, and whatever it wrote itself meanwhile has moved the version on.
 */
function refusals({ details }: CollectingLog): number {
  return details.filter((line) => line.includes("too old resource version")).length;
}

/** Our side of the connections to the apiserver. */
function establishedPorts(): readonly string[] {
  const lines = Deno.readTextFileSync("/proc/thread-self/net/tcp").split("\n").slice(1);
  const apiserverPort = ":192B";
  return lines.map((line) => line.trim().split(/\s+/))
    .filter(([, , remote, state]) => remote?.endsWith(apiserverPort) && state === "01")
    .map(([, local]) => String(parseInt(local.split(":")[1], 16)));
}

function nft(command: string): void {
  const { success, stderr } = new Deno.Command("nft", { args: [command], stderr: "piped" })
    .outputSync();
  assert.ok(success, new TextDecoder().decode(stderr));
}
