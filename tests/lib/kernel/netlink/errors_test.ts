import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { causeText, hasErrno, NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";

const rows: readonly (readonly [errno: number, words: string | undefined, message: string])[] = [
  [Errno.ENOENT, undefined, "Cannot list links: no such object (ENOENT)"],
  [Errno.ENOENT, "Chain not found", "Cannot list links: Chain not found: no such object (ENOENT)"],
  [
    Errno.EPERM,
    undefined,
    "Cannot list links: operation not permitted (EPERM); run as root or with CAP_NET_ADMIN",
  ],
  [
    Errno.EACCES,
    undefined,
    "Cannot list links: permission denied (EACCES); run as root or with CAP_NET_ADMIN",
  ],
  [
    Errno.EPROTONOSUPPORT,
    undefined,
    "Cannot list links: protocol not supported (EPROTONOSUPPORT); this kernel lacks that netlink " +
    "family or its module is not loaded",
  ],
  [
    Errno.EAFNOSUPPORT,
    undefined,
    "Cannot list links: address family not supported (EAFNOSUPPORT); this kernel lacks that " +
    "netlink family or its module is not loaded",
  ],
];

for (const [errno, kernelMessage, message] of rows) {
  Deno.test(`NetlinkError says: ${message}`, () => {
    const error = new NetlinkError({
      op: "list links",
      errno,
      ...(kernelMessage !== undefined && { kernelMessage }),
    });
    assert.equal(error.message, message);
    assert.deepEqual([error.op, error.errno, error.kernelMessage], [
      "list links",
      errno,
      kernelMessage,
    ]);
  });
}

Deno.test("NetlinkError says what its maker knows to do rather than what is usual", () => {
  const error = new NetlinkError({ op: "x", errno: Errno.EPERM, hint: "ask again" });
  assert.match(error.message, /\(EPERM\); ask again$/);
});

Deno.test("hasErrno() knows its own errors only", () => {
  const error = new NetlinkError({ op: "x", errno: Errno.EBUSY });
  assert.equal(hasErrno(error, Errno.EBUSY), true);
  assert.equal(hasErrno(error, Errno.ENOENT), false);
  assert.equal(hasErrno(Object.assign(new Error("x"), { errno: Errno.EBUSY }), Errno.EBUSY), false);
  assert.equal(causeText(Errno.EBUSY, ""), causeText(Errno.EBUSY));
});
