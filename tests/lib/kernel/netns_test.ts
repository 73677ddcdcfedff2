/** Which calls move a thread to another network namespace and back; that they do is seen in root tests. */
import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { inNetworkNamespace, unshareNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { replacingLibc } from "../../fakes/recorded_kernel.ts";

/** A C library that notes what it is asked; the named call is refused. */
async function calls(
  refused: "open" | "setns" | "unshare" | "none",
  action: () => unknown,
): Promise<readonly string[]> {
  const told: string[] = [];
  const errno = new Int32Array([Errno.EPERM]);
  // A program that closed its standard input gets that number.
  let descriptor = 0;
  const answer = (name: string, text: string, good: number) => {
    told.push(`${name} ${text}`);
    return name === refused ? -1 : good;
  };
  await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    close: (fd) => answer("close", String(fd), 0),
    open: (path, flags) => {
      const name = new TextDecoder().decode(path as Uint8Array).replace("\0", "");
      // O_RDONLY | O_CLOEXEC: a program that is started meanwhile must not keep the namespace.
      assert.equal(flags, 0x80000);
      return answer("open", name, descriptor++);
    },
    setns: (fd) => answer("setns", String(fd), 0),
    unshare: (flags) => answer("unshare", String(flags), 0),
  }, () => {
    try {
      told.push(`gives ${action()}`);
    } catch (error) {
      told.push(String(error));
    }
  });
  return told;
}

const inside = () => inNetworkNamespace("/run/netns/x", () => 42);

Deno.test("inNetworkNamespace() goes there and comes back, and closes what it opened", async () => {
  assert.deepEqual(await calls("none", inside), [
    "open /proc/thread-self/ns/net",
    "open /run/netns/x",
    "setns 1",
    "close 1",
    "setns 0",
    "close 0",
    "gives 42",
  ]);
});

Deno.test("inNetworkNamespace() comes back from an action that fails", async () => {
  const told = await calls("none", () =>
    inNetworkNamespace("/run/netns/x", () => {
      throw new Error("no");
    }));
  assert.deepEqual(told.slice(-3), ["setns 0", "close 0", "Error: no"]);
});

Deno.test("a namespace that cannot be had is told with the right that is missing", async () => {
  const why = "operation not permitted (EPERM); run as root with CAP_SYS_ADMIN";
  assert.equal(
    (await calls("open", inside)).at(-1),
    `Error: Cannot open network namespace "/proc/thread-self/ns/net": ${why}`,
  );
  assert.deepEqual((await calls("setns", inside)).slice(-3), [
    "close 1",
    "close 0",
    `Error: Cannot enter network namespace "/run/netns/x": ${why}`,
  ]);
  assert.equal(
    (await calls("unshare", unshareNetworkNamespace)).at(-1),
    `Error: Cannot make a network namespace: ${why}`,
  );
  assert.deepEqual(await calls("none", unshareNetworkNamespace), [
    `unshare ${0x40000000}`,
    "gives undefined",
  ]);
});
