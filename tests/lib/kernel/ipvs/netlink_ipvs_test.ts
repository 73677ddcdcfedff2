/** How IPVS is loaded: told by a kernel that answers as a test wants it. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeCommands } from "../../../../lib/kernel/fake_commands.ts";
import { NetlinkIpvs } from "../../../../lib/kernel/ipvs/netlink_ipvs.ts";
import { replacingLibc } from "../../../fakes/recorded_kernel.ts";

const FAMILY = 33;
const hasNone = { readNet: () => undefined, readNetHead: () => undefined };

/** A kernel that knows the family as soon as `isKnown` says so, or refuses the question. */
async function withKernel(
  isKnown: () => boolean,
  action: () => Promise<void>,
  refusal: number = Errno.ENOENT,
): Promise<void> {
  const errno = new Int32Array(1);
  const answers: Uint8Array[] = [];
  await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => 1_000_000,
    bind: () => 0,
    close: () => 0,
    setsockopt: () => 0,
    sendto: (_fd, bytes, length) => {
      const sequence = (bytes as Uint8Array).slice(8, 12);
      if (isKnown()) answers.push(message({ type: 16, sequence, payload: familyAnswer() }));
      const number = new Uint8Array(Int32Array.of(isKnown() ? 0 : -refusal).buffer);
      const payload = new Uint8Array(20);
      payload.set(number);
      answers.push(message({ type: 2, sequence, payload }));
      return length as bigint;
    },
    recv: (_fd, buffer) => {
      const next = answers.shift();
      assert.ok(next, "nothing was asked");
      (buffer as Uint8Array).set(next);
      return BigInt(next.length);
    },
  }, action);
}

function message(
  { payload, sequence, type }: {
    readonly type: number;
    readonly sequence: Uint8Array;
    readonly payload: Uint8Array;
  },
): Uint8Array {
  const bytes = new Uint8Array(16 + payload.length);
  bytes[0] = bytes.length;
  bytes[4] = type;
  bytes.set(sequence, 8);
  bytes.set(payload, 16);
  return bytes;
}

/** genlmsghdr, then CTRL_ATTR_FAMILY_ID. */
function familyAnswer(): Uint8Array {
  return Uint8Array.of(1, 2, 0, 0, 6, 0, 1, 0, FAMILY, 0, 0, 0);
}

Deno.test("a kernel that loads IPVS when it is asked for the family needs no modprobe", async () => {
  const commands = new FakeCommands({ modprobe: () => assert.fail("was run") });
  await withKernel(() => true, () => new NetlinkIpvs({ files: hasNone, commands }).load());
  assert.deepEqual(commands.ran, []);
});

Deno.test("an older kernel gets IPVS by modprobe, and is asked again", async () => {
  let isLoaded = false;
  const commands = new FakeCommands({ modprobe: () => (isLoaded = true, {}) });
  await withKernel(() => isLoaded, () => new NetlinkIpvs({ files: hasNone, commands }).load());
  assert.deepEqual(commands.ran, ["modprobe ip_vs"]);
});

Deno.test("where modprobe changes nothing, or fails, the module is named", async () => {
  const name = "KernelModuleError";
  for (const exitCode of [0, 1]) {
    const commands = new FakeCommands({ modprobe: () => ({ exitCode }) });
    const ipvs = new NetlinkIpvs({ files: hasNone, commands });
    await withKernel(() => false, () => assert.rejects(ipvs.load(), { name, module: "ip_vs" }));
  }
});

Deno.test("who may not ask hears that, and nothing is loaded", async () => {
  const commands = new FakeCommands({ modprobe: () => assert.fail("was run") });
  const ipvs = new NetlinkIpvs({ files: hasNone, commands });
  const refused = () =>
    assert.rejects(ipvs.load(), {
      name: "NetlinkError",
      message:
        "Cannot use IPVS: operation not permitted (EPERM); run as root or with CAP_NET_ADMIN",
    });
  await withKernel(() => false, refused, Errno.EPERM);
});

Deno.test("without IPVS readers ask nothing, and what needs it names the module", async () => {
  const ipvs = new NetlinkIpvs({ files: hasNone, commands: new FakeCommands() });
  const web = { family: "IPv4", protocol: "tcp", address: "10.96.0.1", port: 80 } as const;
  const nothing = { socket: () => assert.fail("was opened") };
  await replacingLibc(nothing, async () => {
    assert.deepEqual([ipvs.version(), ipvs.read(), ipvs.find(web)], [undefined, [], undefined]);
    assert.equal(ipvs.openConnections([web]).size, 0);
    assert.equal(ipvs.countMarkServers(), 0);
    assert.deepEqual(await ipvs.commit([]), []);
    const refused = { name: "KernelModuleError", module: "ip_vs" };
    await assert.rejects(ipvs.commit([{ kind: "delete-server", server: web }]), refused);
    assert.throws(() => ipvs.timeouts(), refused);
    assert.throws(() => ipvs.setTimeouts({ udp: 1 }), refused);
  });
});
