/** Holds the talks about virtual servers on the kernel of a guest: for `tests/kernel/record_dialogues.ts`. */
import { recordTalk } from "../../fakes/recorded_kernel.ts";
import { packTalk } from "../../lib/kernel/dialogues/dialogue.ts";
import { ipvsDialogues } from "../../lib/kernel/dialogues/ipvs_dialogues.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import { tellOutside } from "../outside.ts";

Deno.test("talks about virtual servers", async () => {
  await runCommand(["modprobe", "ip_vs"]);
  for (const { hold, name } of ipvsDialogues) {
    const { result, talk } = await recordTalk(hold);
    tellOutside("recorded", { name, outcome: result ?? null, talk: await packTalk(talk) });
  }
});
