/** What a raw socket asks of the C library. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { RawSender } from "../../../../lib/kernel/packets/raw_sender.ts";
import { replacingLibc } from "../../../fakes/recorded_kernel.ts";
import { tried } from "../../../fakes/tried.ts";

/** What is asked, with a kernel that refuses with that number. */
async function asked<T>(
  refusal: { readonly [call in "socket" | "sendto"]?: number },
  action: () => T,
) {
  const calls: string[] = [];
  const errno = new Int32Array(1);
  const refuses = (call: "socket" | "sendto") => {
    errno[0] = refusal[call] ?? 0;
    return errno[0] !== 0;
  };
  const result = await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: (family, type, protocol) => {
      calls.push(`socket ${family} ${type} ${protocol}`);
      return refuses("socket") ? -1 : 0;
    },
    sendto: (_fd, packet, length, flags, address, addressLength) => {
      const bytes = address as Uint8Array;
      const text = (packet as Uint8Array).toHex();
      calls.push(`send ${text} ${length} ${flags} to ${bytes.toHex()} ${addressLength}`);
      return refuses("sendto") ? -1n : length as bigint;
    },
    close: (fd) => {
      calls.push(`close ${fd}`);
      return 0;
    },
  }, () => tried(action));
  return { calls, result };
}

const packet = Uint8Array.of(0x45, 1, 2);
const raw = 3 | 0x80000;

function sending(family: "IPv4" | "IPv6", to: Uint8Array): () => boolean {
  return () => {
    using sender = new RawSender(family);
    return sender.send(packet, to);
  };
}

Deno.test("RawSender sends whole packets, each family to its address", async () => {
  const ipv4 = await asked({}, sending("IPv4", Uint8Array.of(192, 0, 2, 80)));
  assert.deepEqual(ipv4.result, { gives: true });
  assert.deepEqual(ipv4.calls, [
    `socket 2 ${raw} 255`,
    // struct sockaddr_in: the family, no port, the address.
    "send 450102 3 0 to 02000000c00002500000000000000000 16",
    "close 0",
  ]);
  const address = Uint8Array.from({ length: 16 }, (_, at) => 0xf0 + at);
  const ipv6 = await asked({}, sending("IPv6", address));
  assert.deepEqual(ipv6.calls, [
    `socket 10 ${raw} 255`,
    `send 450102 3 0 to 0a00000000000000${address.toHex()}00000000 28`,
    "close 0",
  ]);
});

Deno.test("RawSender tells a packet that a rule refused from one that cannot be sent", async () => {
  const to = Uint8Array.of(192, 0, 2, 80);
  const refused = await asked({ sendto: Errno.EPERM }, sending("IPv4", to));
  assert.deepEqual(refused.result, { gives: false });
  const failed = await asked({ sendto: Errno.ENOBUFS }, sending("IPv4", to));
  assert.ok(hasErrno(failed.result.throws, Errno.ENOBUFS));
  assert.equal(failed.calls.at(-1), "close 0");
  const closed = await asked({ socket: Errno.EPERM }, sending("IPv4", to));
  assert.match(String(closed.result.throws), /Cannot open a raw socket: .*\(EPERM\); run as root/);
  assert.equal(closed.calls.length, 1);
});
