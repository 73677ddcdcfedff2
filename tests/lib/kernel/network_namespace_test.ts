/** The cookie of a namespace, by what the kernel answers. */
import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../lib/kernel/netlink/errors.ts";
import { networkNamespace } from "../../../lib/kernel/network_namespace.ts";
import { replacingLibc } from "../../fakes/recorded_kernel.ts";

/** Asks a kernel that refuses the call with the number, or gives the cookie 42. */
async function asked(refused: { readonly socket?: number; readonly getsockopt?: number }) {
  const errno = new Int32Array(1);
  const closed: number[] = [];
  const result = await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    // A program that closed its standard input gets that number.
    socket: () => (errno[0] = refused.socket ?? 0) === 0 ? 0 : -1,
    getsockopt: (_fd, level, option, value) => {
      assert.deepEqual([level, option], [1, 71]);
      new DataView((value as Uint8Array).buffer).setBigUint64(0, 42n, true);
      return (errno[0] = refused.getsockopt ?? 0) === 0 ? 0 : -1;
    },
    close: (fd) => closed.push(fd) - 1,
  }, () => {
    try {
      return { cookie: networkNamespace().cookie };
    } catch (error) {
      return { error };
    }
  });
  return { ...result, closed };
}

Deno.test("networkNamespace() gives the cookie, or none where the kernel is older", async () => {
  assert.deepEqual(await asked({}), { cookie: "42", closed: [0] });
  assert.deepEqual(await asked({ getsockopt: Errno.ENOPROTOOPT }), {
    cookie: undefined,
    closed: [0],
  });
});

Deno.test("networkNamespace() says what the kernel refuses, and leaves nothing open", async () => {
  const unasked = await asked({ getsockopt: Errno.EPERM });
  assert.ok(hasErrno(unasked.error, Errno.EPERM));
  assert.deepEqual(unasked.closed, [0]);
  const unopened = await asked({ socket: Errno.EPERM });
  assert.ok(hasErrno(unopened.error, Errno.EPERM));
  assert.deepEqual(unopened.closed, []);
});
