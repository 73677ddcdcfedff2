/** Answers that this machine's kernel does not give, told by one that answers as a test wants it. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import type { IpsetChange } from "../../../../lib/kernel/ipset/ipset.ts";
import { NetlinkIpset } from "../../../../lib/kernel/ipset/netlink_ipset.ts";
import { replacingLibc } from "../../../fakes/recorded_kernel.ts";
import { services } from "./behaviour_cases.ts";

const MESSAGES: Readonly<Record<number, string>> = {
  2: "create",
  9: "add",
  12: "header",
  13: "type",
  14: "byName",
};

/** Each request is acknowledged, or refused with the number that stands there for it; `line` is told with it. */
async function withKernel<T>(
  refusals: Readonly<Record<string, number>>,
  action: (asked: readonly string[]) => Promise<T>,
): Promise<T> {
  const asked: string[] = [];
  const errno = new Int32Array(1);
  const answers: Uint8Array[] = [];
  return await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => 1_000_000,
    bind: () => 0,
    close: () => 0,
    setsockopt: () => 0,
    sendto: (_fd, bytes, length) => {
      const request = bytes as Uint8Array;
      const kind = MESSAGES[request[4]] ?? String(request[4]);
      asked.push(kind);
      answers.push(answerTo(request, { errno: refusals[kind] ?? 0, line: refusals.line ?? 0 }));
      return length as bigint;
    },
    recv: (_fd, buffer) => {
      const next = answers.shift();
      assert.ok(next, "nothing was asked");
      (buffer as Uint8Array).set(next);
      return BigInt(next.length);
    },
  }, () => action(asked));
}

/** The error number and the request again, with the number of the refused line in it. */
function answerTo(
  request: Uint8Array,
  { errno, line }: { readonly errno: number; readonly line: number },
): Uint8Array {
  const bytes = new Uint8Array(20 + request.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint16(4, 2, true);
  view.setUint32(8, new DataView(request.buffer, request.byteOffset).getUint32(8, true), true);
  view.setInt32(16, -errno, true);
  bytes.set(request, 20);
  // The first attribute of this kind stands before the members.
  for (let at = 40; at + 8 <= bytes.length; at += 4) {
    if (view.getUint32(at, true) !== 0x0009_0008) continue;
    view.setUint32(at + 4, line, true);
    break;
  }
  return bytes;
}

const loaded = { read: () => "256" };
const create: IpsetChange = { kind: "create", set: services };
const add: IpsetChange = { kind: "add-members", set: services, members: ["10.96.0.1,tcp:80"] };

Deno.test("a type that the kernel lacks is named with its module", async () => {
  await withKernel({ header: Errno.ENOENT, type: Errno.EEXIST }, async () => {
    assert.deepEqual(await new NetlinkIpset(loaded).commit([create]), [{
      change: 0,
      refusal: "no-type",
      message:
        'Cannot create set "KUBE-CLUSTER-IP" of type "hash:ip,port family inet": the kernel ' +
        'has no sets of this type (ipset error 4098); run "modprobe ip_set_hash_ipport" on the node',
    }]);
  });
});

Deno.test("a set with other settings than ours is another one", async () => {
  await withKernel({ header: Errno.ENOENT, create: Errno.EEXIST }, async () => {
    const [{ message, refusal }] = await new NetlinkIpset(loaded).commit([create]);
    assert.equal(refusal, "other-set");
    assert.match(message, /a set of that name is "hash:ip,port family inet with other settings"/);
  });
});

Deno.test("who may not change sets hears it once, not for each change", async () => {
  const message = /^Cannot .*operation not permitted \(EPERM\); run as root or with CAP_NET_ADMIN$/;
  for (const kind of ["header", "add"]) {
    await withKernel({ [kind]: Errno.EPERM }, async (asked) => {
      const changes = kind === "add" ? [add, add] : [create, create];
      await assert.rejects(new NetlinkIpset(loaded).commit(changes), {
        name: "NetlinkError",
        message,
      });
      assert.deepEqual(asked, [kind]);
    });
  }
});

Deno.test("readers of a kernel without ipset ask nothing, a change loads it", async () => {
  const none = new NetlinkIpset({ read: () => undefined });
  await withKernel({ byName: Errno.ENOENT }, async (asked) => {
    assert.deepEqual([none.list(), none.members("A"), none.indexOf("A"), none.nameOf(1)], [
      [],
      undefined,
      undefined,
      undefined,
    ]);
    assert.deepEqual(asked, []);
    assert.deepEqual(await none.commit([]), []);
    assert.deepEqual(asked, []);
    assert.deepEqual(await none.commit([add]), []);
    assert.deepEqual(asked, ["byName", "add"]);
  });
});

Deno.test("a kernel without ipset names the module", async () => {
  const none = new NetlinkIpset({ read: () => undefined });
  await withKernel({ byName: Errno.EINVAL }, async () => {
    await assert.rejects(none.commit([add]), {
      name: "KernelModuleError",
      message:
        'Cannot use sets: the kernel module "ip_set" is not loaded; run "modprobe ip_set" on ' +
        "the node, or install the kernel's modules there",
    });
  });
  await withKernel({ byName: Errno.EPERM }, async () => {
    await assert.rejects(none.commit([add]), { name: "NetlinkError" });
  });
});

Deno.test("from the first member without room on, none is sent", async () => {
  const members = ["10.96.0.1,tcp:80", "10.96.0.2,tcp:80", "10.96.0.3,tcp:80"];
  for (
    const [line, expected] of [[2, members.slice(1)], [0, [undefined]], [9, [undefined]]] as const
  ) {
    await withKernel({ add: 4352, line }, async (asked) => {
      const failures = await new NetlinkIpset(loaded).commit([{ ...add, members }]);
      assert.deepEqual(failures.map(({ member }) => member), expected);
      assert.ok(failures.every(({ refusal }) => refusal === "full"));
      assert.deepEqual(asked, ["add"]);
    });
  }
});

Deno.test("a port outside a bitmap is no full set", async () => {
  const ports = { name: "KUBE-NODE-PORT-TCP", type: "bitmap:port" } as const;
  await withKernel({ add: 4352, line: 1 }, async () => {
    const change = { kind: "add-members", set: ports, members: ["80"] } as const;
    assert.deepEqual(await new NetlinkIpset(loaded).commit([change]), [{
      change: 0,
      member: "80",
      refusal: "other",
      message:
        'Cannot add "80" to set "KUBE-NODE-PORT-TCP": the port is outside the range of the ' +
        "set (ipset error 4352)",
    }]);
  });
});
