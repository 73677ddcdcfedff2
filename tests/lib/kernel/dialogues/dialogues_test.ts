/** What a kernel once said is said again: the code from bytes to objects, without any kernel. */
import assert from "node:assert/strict";
import { replayTalk } from "../../../fakes/recorded_kernel.ts";
import { type DialogueRecord, recordUrl, unpackTalk } from "./dialogue.ts";
import { dialogues } from "./dialogues.ts";

for (const [room, held] of Object.entries(dialogues)) {
  const record: DialogueRecord = JSON.parse(await Deno.readTextFile(recordUrl(room)));
  for (const { name, hold } of held) {
    Deno.test(`recorded talk with Linux ${record.kernel}: ${name}`, async () => {
      const recorded = record.dialogues.find((each) => each.name === name);
      assert.ok(recorded, "not recorded yet: see tests/kernel/record_dialogues.ts");
      const outcome = await replayTalk(await unpackTalk(recorded.talk), hold);
      assert.deepEqual(JSON.parse(JSON.stringify(outcome ?? null)), recorded.outcome);
    });
  }
}
