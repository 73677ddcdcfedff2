import assert from "node:assert/strict";
import { holdSharedLock, isLockHeld } from "../../../lib/kernel/shared_lock.ts";
import { inFolder } from "../../fakes/folder.ts";

Deno.test("a lock is held until the last of its holders lets go", () =>
  inFolder((folder) => {
    const path = `${folder}/lock`;
    assert.equal(isLockHeld(path), false);
    const holders = [holdSharedLock(path), holdSharedLock(path)];
    for (const holder of holders) {
      assert.equal(isLockHeld(path), true);
      holder[Symbol.dispose]();
    }
    assert.equal(isLockHeld(path), false);
    return Promise.resolve();
  }));

Deno.test("a lock in no folder is refused with a sentence", () =>
  inFolder((folder) => {
    const sorry = new Error(`Cannot lock "${folder}/none/lock": no such object (ENOENT)`);
    assert.throws(() => holdSharedLock(`${folder}/none/lock`), sorry);
    Deno.writeTextFileSync(`${folder}/file`, "");
    assert.throws(() => isLockHeld(`${folder}/file/lock`), /Cannot lock .*ENOTDIR/);
    return Promise.resolve();
  }));
