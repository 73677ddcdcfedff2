import assert from "node:assert/strict";
import { NetlinkLinks } from "../../../lib/kernel/links/netlink_links.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { withOwnNamespace } from "../rig/own_namespace.ts";

const ownNamespace = () => Deno.readLinkSync("/proc/thread-self/ns/net");

Deno.test("inNetworkNamespace() moves this thread and back, also when the action throws", () =>
  withOwnNamespace(({ name }) => {
    const home = ownNamespace();
    const path = `/run/netns/${name}`;
    assert.notEqual(inNetworkNamespace(path, ownNamespace), home);
    assert.equal(ownNamespace(), home);
    assert.throws(() =>
      inNetworkNamespace(path, () => {
        throw new Error("within");
      }), { message: "within" });
    assert.equal(ownNamespace(), home);
    return Promise.resolve();
  }));

Deno.test("inNetworkNamespace() says which namespace cannot be entered, and stays", () => {
  const home = ownNamespace();
  assert.throws(() => inNetworkNamespace("/run/netns/no-such-namespace", () => 1), {
    message: /Cannot open network namespace "\/run\/netns\/no-such-namespace"/,
  });
  assert.throws(() => inNetworkNamespace("/etc/passwd", () => 1), {
    message: /Cannot enter network namespace "\/etc\/passwd"/,
  });
  assert.equal(ownNamespace(), home);
});

Deno.test("unshareNetworkNamespace() moves one worker and nothing else", async () => {
  const before = new NetlinkLinks().links();
  const worker = new Worker(new URL("./netns_worker.ts", import.meta.url), { type: "module" });
  try {
    const names = await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
    });
    assert.ok(Array.isArray(names));
    assert.equal(names[0], "lo false", "a loopback that is down: a namespace of its own");
  } finally {
    worker.terminate();
  }
  assert.deepEqual(new NetlinkLinks().links(), before);
});
