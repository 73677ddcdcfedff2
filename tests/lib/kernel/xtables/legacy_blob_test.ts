/** The whole of an older table, as `struct ipt_getinfo` and `struct ipt_get_entries` lay it out. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { readLegacyBlob, readLegacyBlobLater } from "../../../../lib/kernel/xtables/legacy_blob.ts";
import { type LibcFunctions, replacingLibc } from "../../../fakes/recorded_kernel.ts";

const SO_GET_INFO = 64;
const SO_GET_ENTRIES = 65;

/** Reads the table of a kernel that answers the question for the rules with those numbers first. */
async function read(
  refusals: readonly number[],
  options: {
    readonly entries: Uint8Array;
    readonly isLater?: boolean;
    /** So often the chains of hooks are elsewhere than at the question before. */
    readonly moves?: number;
  },
) {
  let moves = (options.moves ?? 0) * 2;

  const errno = new Int32Array(1);
  const left = [...refusals];
  const asked: number[] = [];
  const getsockopt: LibcFunctions["getsockopt"] = (_fd, _level, option, buffer) => {
    asked.push(option);
    const answer = buffer as Uint8Array;
    const view = new DataView(answer.buffer);
    assert.equal(new TextDecoder().decode(answer.subarray(0, 4)), "raw\0");
    if (option === SO_GET_INFO) {
      // Prerouting and output.
      view.setUint32(32, 0b1001, true);
      for (let hook = 0; hook < 5; hook++) {
        view.setUint32(36 + hook * 4, 100 + hook + moves, true);
        view.setUint32(56 + hook * 4, 200 + hook, true);
      }
      view.setUint32(76, 2, true);
      view.setUint32(80, options.entries.length, true);
      if (moves > 0) moves--;
      return 0;
    }
    errno[0] = left.shift() ?? 0;
    if (errno[0] !== 0) return -1;
    assert.equal(view.getUint32(32, true), options.entries.length);
    answer.set(options.entries, 40);
    return 0;
  };
  const result = await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => 0,
    close: () => 0,
    getsockopt,
    getsockoptLater: (...question) => Promise.resolve(getsockopt(...question)),
  }, async () => {
    try {
      const reading = options.isLater ? readLegacyBlobLater : readLegacyBlob;
      return { blob: await reading("IPv4", "raw") };
    } catch (error) {
      return { error };
    }
  });
  return { ...result, asked };
}

const entries = Uint8Array.from({ length: 300 }, (_, at) => at & 255);

Deno.test("readLegacyBlob() gives the entries, and where the chains of the table's hooks are", async () => {
  const { asked, blob } = await read([], { entries });
  assert.deepEqual(asked, [SO_GET_INFO, SO_GET_ENTRIES]);
  assert.deepEqual(blob?.entries, entries);
  assert.deepEqual(blob?.hookEntries, [100, undefined, undefined, 103, undefined]);
  assert.deepEqual(blob?.underflows, [200, undefined, undefined, 203, undefined]);
});

Deno.test("readLegacyBlob() asks for the size again where the table was replaced meanwhile", async () => {
  const replaced = await read([Errno.EAGAIN, Errno.EAGAIN], { entries });
  assert.deepEqual(replaced.blob?.entries, entries);
  assert.equal(replaced.asked.length, 6);
  const always = await read(Array(9).fill(Errno.EAGAIN), { entries });
  assert.ok(hasErrno(always.error, Errno.EAGAIN));
  assert.equal(always.asked.length, 10);
  const forbidden = await read([Errno.EPERM], { entries });
  assert.ok(hasErrno(forbidden.error, Errno.EPERM));
  assert.equal(forbidden.asked.length, 2);
});

Deno.test("readLegacyBlobLater() asks again where the table was replaced meanwhile, also by one of its size", async () => {
  const later = { entries, isLater: true };
  const once = await read([], later);
  assert.deepEqual(once.blob, (await read([], { entries })).blob);
  assert.deepEqual(once.asked, [SO_GET_INFO, SO_GET_ENTRIES, SO_GET_INFO]);
  const replaced = await read([Errno.EAGAIN, Errno.EAGAIN], later);
  assert.deepEqual(replaced.blob, once.blob);
  assert.equal(replaced.asked.length, 7);
  const moved = await read([], { ...later, moves: 2 });
  assert.deepEqual(moved.blob, once.blob);
  assert.equal(moved.asked.length, 9);
  const always = await read(Array(9).fill(Errno.EAGAIN), later);
  assert.ok(hasErrno(always.error, Errno.EAGAIN));
  assert.equal(always.asked.length, 10);
});
