/** What a netlink socket asks of the C library, call by call. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkProtocol, NetlinkSocket } from "../../../../lib/kernel/netlink/socket.ts";
import { type LibcFunctions, replacingLibc } from "../../../fakes/recorded_kernel.ts";

/** A kernel that notes what it is asked, and fails where told. */
class ScriptedKernel {
  readonly calls: string[] = [];
  /** Error numbers of the next calls by the function's name; 0 is a success. */
  readonly failures: Record<string, number[]> = {};
  /** What the next receives give. */
  readonly datagrams: Uint8Array[] = [];
  /** Options that are refused, as `level/option`. */
  refused: readonly string[] = [];
  /** The size that a truncated datagram had. */
  truncated = 0;
  readonly #errno = new Int32Array(1);

  run<T>(action: () => T | Promise<T>): Promise<T> {
    const functions: Partial<LibcFunctions> = {
      __errno_location: () => Deno.UnsafePointer.of(this.#errno),
      socket: (family, type, protocol) =>
        this.#done("socket", `${family} ${type} ${protocol}`) ?? 7,
      bind: (fd, address, length) => this.#done("bind", `${fd} ${hexOf(address)} ${length}`) ?? 0,
      close: (fd) => this.#done("close", String(fd)) ?? 0,
      setsockopt: (_fd, level, option, value, length) => {
        this.calls.push(`set ${level}/${option} ${hexOf(value)} ${length}`);
        return this.refused.includes(`${level}/${option}`) ? -1 : 0;
      },
      getsockopt: (_fd, _level, _option, value) => {
        new DataView((value as Uint8Array).buffer).setInt32(0, 4096, true);
        return this.#done("getsockopt", "") ?? 0;
      },
      sendto: (_fd, bytes, length, flags) => {
        const failed = this.#done("send", `${hexOf(bytes)} ${length} ${flags}`);
        return failed === undefined ? length as bigint : -1n;
      },
      recv: (_fd, buffer, length, flags) => {
        const failed = this.#done("recv", `${length} ${flags}`);
        if (failed !== undefined) return -1n;
        if (this.truncated > 0) return BigInt(this.truncated);
        const datagram = this.datagrams.shift() ?? new Uint8Array();
        (buffer as Uint8Array).set(datagram);
        return BigInt(datagram.length);
      },
    };
    return replacingLibc(functions, action);
  }

  #done(name: string, words: string): -1 | undefined {
    this.calls.push(`${name} ${words}`.trim());
    const errno = this.failures[name]?.shift() ?? 0;
    this.#errno[0] = errno;
    return errno === 0 ? undefined : -1;
  }
}

function hexOf(bytes: BufferSource | null): string {
  return (bytes as Uint8Array).toHex();
}

const opening = [
  "socket 16 524291 12",
  "set 1/33 00004000 4",
  "set 1/20 0a000000000000000000000000000000 16",
  "set 270/11 01000000 4",
  "set 270/10 01000000 4",
  "bind 7 100000000000000000000000 12",
];

const netfilter = { protocol: NetlinkProtocol.netfilter };

Deno.test("NetlinkSocket opens, binds and closes once", async () => {
  const kernel = new ScriptedKernel();
  await kernel.run(() => {
    using socket = new NetlinkSocket(netfilter);
    socket.close();
  });
  assert.deepEqual(kernel.calls, [...opening, "close 7"]);
});

Deno.test("NetlinkSocket takes what it is told of buffers and waits", async () => {
  const kernel = new ScriptedKernel();
  kernel.refused = ["1/33"];
  const options = { protocol: 0, receiveBufferBytes: 0x1234, receiveTimeoutMs: 2_500 };
  await kernel.run(() => new NetlinkSocket(options));
  assert.deepEqual(kernel.calls.slice(0, 4), [
    "socket 16 524291 0",
    "set 1/33 34120000 4",
    "set 1/8 34120000 4",
    "set 1/20 020000000000000020a1070000000000 16",
  ]);
});

Deno.test("NetlinkSocket says why it cannot be opened, and leaves nothing open", async () => {
  const kernel = new ScriptedKernel();
  kernel.failures.socket = [Errno.EPROTONOSUPPORT];
  await assert.rejects(kernel.run(() => new NetlinkSocket(netfilter)), {
    message: /^Cannot open a netlink socket: .*\(EPROTONOSUPPORT\); this kernel lacks/,
  });
  kernel.failures.bind = [Errno.EPERM];
  await assert.rejects(kernel.run(() => new NetlinkSocket(netfilter)), {
    message: /^Cannot bind a netlink socket: .*\(EPERM\); run as root/,
  });
  assert.equal(kernel.calls.at(-1), "close 7");
  kernel.refused = ["1/20"];
  await assert.rejects(kernel.run(() => new NetlinkSocket(netfilter)), {
    message: /^Cannot set the timeout of a netlink socket: /,
  });
});

/** The calls that the action makes on an open socket. */
async function callsOf(
  kernel: ScriptedKernel,
  action: (socket: NetlinkSocket) => unknown,
): Promise<string[]> {
  await kernel.run(async () => {
    const socket = new NetlinkSocket(netfilter);
    kernel.calls.length = 0;
    await action(socket);
  });
  return kernel.calls;
}

Deno.test("NetlinkSocket sends again what was interrupted, and says what was refused", async () => {
  const kernel = new ScriptedKernel();
  kernel.failures.send = [Errno.EINTR, Errno.EINTR];
  const bytes = Uint8Array.of(1, 2, 3);
  assert.deepEqual(await callsOf(kernel, (socket) => socket.send(bytes, "say")), [
    "send 010203 3 0",
    "send 010203 3 0",
    "send 010203 3 0",
  ]);
  kernel.failures.send = [Errno.EMSGSIZE];
  await assert.rejects(callsOf(kernel, (socket) => socket.send(bytes, "say")), {
    message: /^Cannot say: .*\(EMSGSIZE\)/,
  });
});

Deno.test("NetlinkSocket makes room for large datagrams, ever more of it", async () => {
  const kernel = new ScriptedKernel();
  const sets = async (...sizes: number[]) =>
    (await callsOf(kernel, (socket) => {
      for (const size of sizes) socket.send(new Uint8Array(size), "say");
    })).filter((call) => call.startsWith("set"));
  const room = (option: number, size: number) =>
    `set 1/${option} ${new Uint8Array(Int32Array.of(size).buffer).toHex()} 4`;
  const kib = 1024;
  assert.deepEqual(await sets(64 * kib), []);
  assert.deepEqual(await sets(64 * kib + 1), [room(32, 128 * kib + 1)]);
  assert.deepEqual(await sets(500 * kib, 500 * kib, 564 * kib), [room(32, 564 * kib)]);
  assert.deepEqual(await sets(100 * kib, 165 * kib), [room(32, 164 * kib), room(32, 328 * kib)]);
  kernel.refused = ["1/32"];
  assert.deepEqual(await sets(100 * kib), [room(32, 164 * kib), room(7, 164 * kib)]);
});

Deno.test("NetlinkSocket knows how large a datagram may be", async () => {
  const kernel = new ScriptedKernel();
  const largest = () => kernel.run(() => new NetlinkSocket(netfilter).largestDatagram());
  assert.equal(await largest(), Infinity);
  kernel.refused = ["1/32"];
  assert.equal(await largest(), 4096 - 32);
  assert.ok(kernel.calls.includes("set 1/7 00000040 4"), kernel.calls.join("\n"));
  kernel.failures.getsockopt = [Errno.EBUSY];
  await assert.rejects(largest(), /Cannot read the send buffer of a netlink socket/);
});

Deno.test("NetlinkSocket receives whole datagrams, and waits again when it was interrupted", async () => {
  const kernel = new ScriptedKernel();
  kernel.failures.recv = [Errno.EINTR, 0];
  kernel.datagrams.push(Uint8Array.of(1, 2));
  const calls = await callsOf(kernel, (socket) => {
    assert.deepEqual([...socket.receive("hear")], [1, 2]);
  });
  assert.deepEqual(calls, ["recv 262144 32", "recv 262144 32"]);
  kernel.failures.recv = [Errno.EAGAIN];
  await assert.rejects(callsOf(kernel, (socket) => socket.receive("hear")), {
    message: /^Cannot hear: .*\(EAGAIN\)/,
  });
  kernel.truncated = 262_145;
  await assert.rejects(callsOf(kernel, (socket) => socket.receive("hear")), /\(EMSGSIZE\)/);
  await assert.rejects(callsOf(kernel, (socket) => socket.receiveQueued("hear")), /\(EMSGSIZE\)/);
  kernel.truncated = 262_144;
  await callsOf(kernel, (socket) => assert.equal(socket.receive("hear").length, 262_144));
});

Deno.test("NetlinkSocket takes what is queued without waiting", async () => {
  const kernel = new ScriptedKernel();
  kernel.failures.recv = [Errno.EINTR, 0, Errno.EAGAIN];
  kernel.datagrams.push(Uint8Array.of(3));
  const calls = await callsOf(kernel, (socket) => {
    assert.deepEqual([...socket.receiveQueued("hear") ?? []], [3]);
    assert.equal(socket.receiveQueued("hear"), undefined);
  });
  assert.deepEqual(calls, ["recv 262144 96", "recv 262144 96", "recv 262144 96"]);
  kernel.failures.recv = [Errno.ENOBUFS];
  await assert.rejects(callsOf(kernel, (socket) => socket.receiveQueued("hear")), /\(ENOBUFS\)/);
});

Deno.test("NetlinkSocket joins groups, and numbers its requests", async () => {
  const kernel = new ScriptedKernel();
  assert.deepEqual(await callsOf(kernel, (socket) => socket.join(5, "watch")), [
    "set 270/1 05000000 4",
  ]);
  kernel.refused = ["270/1"];
  await assert.rejects(callsOf(kernel, (socket) => socket.join(5, "watch")), /Cannot watch: /);
  await callsOf(kernel, (socket) => {
    assert.deepEqual([socket.nextSequence(), socket.nextSequence()], [1, 2]);
  });
});
