/** What a tun device asks of the C library; that packets pass is seen in root tests. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { Tun } from "../../../../lib/kernel/packets/tun.ts";
import { replacingLibc } from "../../../fakes/recorded_kernel.ts";
import { tried } from "../../../fakes/tried.ts";

type Call = "open" | "ioctl" | "write" | "read";

/** What is asked, with a kernel that refuses with that number, and gives these packets. */
async function asked<T>(
  { packets = [], refusal = {} }: {
    readonly refusal?: { readonly [call in Call]?: number };
    readonly packets?: readonly Uint8Array[];
  },
  action: () => T,
) {
  const calls: string[] = [];
  const errno = new Int32Array(1);
  const waiting = [...packets];
  const refuses = (call: Call) => (errno[0] = refusal[call] ?? 0) !== 0;
  const text = (bytes: unknown) =>
    new TextDecoder().decode((bytes as Uint8Array).slice(0, 16)).replace(/\0+$/, "");
  const outcome = await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    open: (path, flags) => {
      calls.push(`open ${text(path)} ${flags}`);
      return refuses("open") ? -1 : 0;
    },
    ioctl: (fd, request, argument) => {
      const bytes = argument as Uint8Array;
      const flags = new DataView(bytes.buffer).getUint16(16, true);
      calls.push(`ioctl ${fd} ${request} ${text(bytes)} ${flags} of ${bytes.length}`);
      return refuses("ioctl") ? -1 : 0;
    },
    write: (fd, packet, length) => {
      calls.push(`write ${fd} ${(packet as Uint8Array).toHex()} ${length}`);
      return refuses("write") ? -1n : length as bigint;
    },
    read: (_fd, into) => {
      const next = waiting.shift();
      if (!next) {
        errno[0] = refusal.read ?? Errno.EAGAIN;
        return -1n;
      }
      (into as Uint8Array).set(next);
      return BigInt(next.length);
    },
    close: (fd) => {
      calls.push(`close ${fd}`);
      return 0;
    },
  }, () => tried(action));
  return { calls, ...outcome };
}

// O_RDWR | O_NONBLOCK | O_CLOEXEC; TUNSETIFF with IFF_TUN | IFF_NO_PI.
const opening = ["open /dev/net/tun 526338", "ioctl 0 1074025674 kp 4097 of 40"];

Deno.test("Tun makes a device without headers of its own, and takes it away once", async () => {
  const { calls, gives } = await asked({ packets: [Uint8Array.of(0x45, 9)] }, () => {
    const tun = new Tun("kp");
    tun.write(Uint8Array.of(0x45, 1, 2));
    const seen = tun.read()?.toHex();
    const nothing = tun.read();
    tun[Symbol.dispose]();
    tun[Symbol.dispose]();
    return [tun.name, seen, nothing];
  });
  assert.deepEqual(gives, ["kp", "4509", undefined]);
  assert.deepEqual(calls, [...opening, "write 0 450102 3", "close 0"]);
});

const failures: readonly (readonly [Call, number, readonly string[]])[] = [
  ["open", Errno.ENOENT, opening.slice(0, 1)],
  ["ioctl", Errno.EPERM, [...opening, "close 0"]],
  ["write", Errno.EINVAL, [...opening, "write 0 45 1", "close 0"]],
  ["read", Errno.EPERM, [...opening, "write 0 45 1", "close 0"]],
];

for (const [call, errno, expected] of failures) {
  Deno.test(`Tun says what the kernel refuses, and leaves nothing open: ${call}`, async () => {
    const { calls, throws } = await asked({ refusal: { [call]: errno } }, () => {
      using tun = new Tun("kp");
      tun.write(Uint8Array.of(0x45));
      return tun.read();
    });
    assert.ok(hasErrno(throws, errno));
    assert.deepEqual(calls, expected);
  });
}
