import assert from "node:assert/strict";
import { NodeGuard } from "../../../lib/node/node_guard.ts";
import { nodeNameOf } from "../../../lib/node/node_name.ts";
import type { Logger } from "../../../lib/base/log.ts";
import type { DetectLocalMode } from "../../../lib/config/internal.ts";
import type { Node } from "../../../lib/kube/objects.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

function node(addresses: readonly string[], podCIDRs: readonly string[] = []): Node {
  return {
    namespace: "",
    name: "n1",
    resourceVersion: "1",
    addresses: addresses.map((address) => ({ type: "InternalIP", address })),
    podCIDRs,
    zone: "",
    taintKeys: [],
    deleting: false,
  };
}

class World {
  readonly clock = new FakeClock();
  readonly said: string[] = [];
  current: Node | undefined;
  readonly guard: NodeGuard;

  constructor(detectLocalMode: DetectLocalMode = "ClusterCIDR") {
    const say = (message: string) => void this.said.push(message);
    const logger: Logger = {
      info: say,
      verbose: () => {},
      warning: say,
      error: say,
      enabled: () => false,
    };
    this.guard = new NodeGuard({
      nodeName: "n1",
      detectLocalMode,
      clock: this.clock,
      logger,
      current: () => this.current,
    });
  }

  hear(heard: Node | undefined): void {
    this.current = heard;
    this.guard.heard();
  }

  /** The wait, and whether it is over. */
  wait(): { readonly done: Promise<void>; isOver: boolean } {
    const state = { isOver: false, done: Promise.resolve() };
    state.done = this.guard.wait(new AbortController().signal).finally(() => state.isOver = true);
    return state;
  }
}

Deno.test("NodeGuard starts at once when the Node has addresses", async () => {
  const world = new World();
  world.current = node(["192.168.1.1"]);
  const wait = world.wait();
  await world.clock.advance(0);
  assert.equal(wait.isOver, true);
  assert.deepEqual(world.said, []);
});

Deno.test("NodeGuard starts when addresses come later, without waiting for the next look", async () => {
  const world = new World();
  const wait = world.wait();
  world.hear(node([]));
  await world.clock.advance(1_500);
  assert.equal(wait.isOver, false);
  world.hear(node(["192.168.1.1"]));
  await world.clock.advance(0);
  assert.equal(wait.isOver, true);
});

Deno.test("NodeGuard goes on after 30 s without a Node, and a Node that then comes is a change", async () => {
  const world = new World();
  const wait = world.wait();
  await world.clock.advance(29_000);
  assert.equal(wait.isOver, false);
  await world.clock.advance(1_500);
  await wait.done;
  assert.deepEqual(world.said, ["Timed out waiting for node to exist"]);
  assert.throws(() => world.hear(node(["192.168.1.1"])), /^Error: Cannot go on: /);
});

Deno.test("NodeGuard tells a Node without addresses from a missing one", async () => {
  const world = new World();
  world.current = node([]);
  const wait = world.wait();
  await world.clock.advance(31_000);
  await wait.done;
  assert.deepEqual(world.said, ["Timed out waiting for node to be assigned IPs"]);
});

Deno.test("NodeGuard waits five minutes for pod CIDRs where they tell local traffic", async (t) => {
  await t.step("they come", async () => {
    const world = new World("NodeCIDR");
    world.current = node(["192.168.1.1"]);
    const wait = world.wait();
    await world.clock.advance(60_000);
    assert.equal(wait.isOver, false);
    world.hear(node(["192.168.1.1"], ["10.128.0.0/24"]));
    await world.clock.advance(0);
    assert.equal(wait.isOver, true);
  });
  await t.step("they do not", async () => {
    const world = new World("NodeCIDR");
    world.current = node(["192.168.1.1"]);
    const refused = assert.rejects(world.wait().done, /no pod CIDRs were allocated to it/);
    await world.clock.advance(301_000);
    await refused;
  });
  await t.step("there is no Node", async () => {
    const world = new World("NodeCIDR");
    const refused = assert.rejects(world.wait().done, /it does not exist/);
    await world.clock.advance(331_000);
    await refused;
  });
});

const started = node(["192.168.1.1", "fd00:192:168:1::1"], ["10.128.0.0/24"]);

const changes: readonly {
  name: string;
  mode?: DetectLocalMode;
  to: Node | undefined;
  said?: string;
}[] = [
  { name: "nothing that counts", to: { ...started, resourceVersion: "2", zone: "a" } },
  {
    name: "another address",
    to: node(["192.168.1.2", "fd00:192:168:1::1"], started.podCIDRs),
    said: "NodeIPs changed for the node",
  },
  {
    name: "another order of addresses",
    to: node(["fd00:192:168:1::1", "192.168.1.1"], started.podCIDRs),
    said: "NodeIPs changed for the node",
  },
  {
    name: "an address less",
    to: node(["192.168.1.1"], started.podCIDRs),
    said: "NodeIPs changed for the node",
  },
  {
    name: "other pod CIDRs that nobody uses",
    to: node(["192.168.1.1", "fd00:192:168:1::1"], ["10.129.0.0/24"]),
  },
  {
    name: "other pod CIDRs in use",
    mode: "NodeCIDR",
    to: node(["192.168.1.1", "fd00:192:168:1::1"], ["10.129.0.0/24"]),
    said: "PodCIDRs changed for the node",
  },
  { name: "deleted", to: undefined, said: "Node is being deleted" },
];

Deno.test("NodeGuard ends the proxy when the Node is no longer what it started with", async (t) => {
  for (const { name, mode, to, said } of changes) {
    await t.step(name, async () => {
      const world = new World(mode);
      world.current = started;
      const wait = world.wait();
      await world.clock.advance(0);
      await wait.done;
      if (said) assert.throws(() => world.hear(to), /^Error: Cannot go on: /);
      else world.hear(to);
      assert.deepEqual(world.said, said ? [said] : []);
    });
  }
});

const names: readonly { override: string; host: string; name: string | RegExp }[] = [
  { override: "", host: "Host-1", name: "host-1" },
  { override: " Node-A ", host: "host", name: "node-a" },
  { override: "   ", host: "host", name: /blank/ },
  { override: "", host: "", name: /blank/ },
];

Deno.test("nodeNameOf() trims and lowers, and refuses a blank", async (t) => {
  for (const { override, host, name } of names) {
    await t.step(JSON.stringify([override, host]), () => {
      if (typeof name === "string") assert.equal(nodeNameOf(override, host), name);
      else assert.throws(() => nodeNameOf(override, host), name);
    });
  }
});
