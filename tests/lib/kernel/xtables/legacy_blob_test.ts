/** The whole of an older table, as `struct ipt_getinfo` and `struct ipt_get_entries` lay it out. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { readLegacyBlob } from "../../../../lib/kernel/xtables/legacy_tables.ts";
import { replacingLibc } from "../../../fakes/recorded_kernel.ts";

const SO_GET_INFO = 64;
const SO_GET_ENTRIES = 65;

/** Reads the table of a kernel that answers the question for the rules with those numbers first. */
async function read(refusals: readonly number[], options: { readonly entries: Uint8Array }) {
  const errno = new Int32Array(1);
  const left = [...refusals];
  const asked: number[] = [];
  const result = await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => 0,
    close: () => 0,
    getsockopt: (_fd, _level, option, buffer) => {
      asked.push(option);
      const answer = buffer as Uint8Array;
      const view = new DataView(answer.buffer);
      assert.equal(new TextDecoder().decode(answer.subarray(0, 4)), "raw\0");
      if (option === SO_GET_INFO) {
        // Prerouting and output.
        view.setUint32(32, 0b1001, true);
        for (let hook = 0; hook < 5; hook++) {
          view.setUint32(36 + hook * 4, 100 + hook, true);
          view.setUint32(56 + hook * 4, 200 + hook, true);
        }
        view.setUint32(76, 2, true);
        view.setUint32(80, options.entries.length, true);
        return 0;
      }
      errno[0] = left.shift() ?? 0;
      if (errno[0] !== 0) return -1;
      assert.equal(view.getUint32(32, true), options.entries.length);
      answer.set(options.entries, 40);
      return 0;
    },
  }, () => {
    try {
      return { blob: readLegacyBlob("IPv4", "raw") };
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
