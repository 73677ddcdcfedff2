/**
 * Holds every dialogue of `tests/lib/kernel/dialogues/` on this machine's kernel, each in a network
 * namespace of its own, and records what was said for the unit tests. What the dialogues themselves
 * assert is asserted here as well. Needed again when we speak otherwise, or have more to say.
 *
 *   sudo deno run -A tests/kernel/record_dialogues.ts [ROOM...]
 */
import { recordTalk } from "../fakes/recorded_kernel.ts";
import { packTalk, type RecordedDialogue, recordUrl } from "../lib/kernel/dialogues/dialogue.ts";
import { dialogues } from "../lib/kernel/dialogues/dialogues.ts";

const text = new TextDecoder();

/** In a process that lives in a new namespace: nothing of the machine's own is touched. */
async function recordElsewhere(room: string, name: string): Promise<RecordedDialogue> {
  const { code, stdout, stderr } = await new Deno.Command("unshare", {
    args: [
      "--net",
      Deno.execPath(),
      "run",
      "-A",
      "--no-check",
      import.meta.filename ?? "",
      room,
      name,
    ],
  }).output();
  if (code !== 0) throw new Error(`Cannot record "${name}": ${text.decode(stderr)}`);
  return JSON.parse(text.decode(stdout));
}

async function recordHere(room: string, name: string): Promise<RecordedDialogue> {
  const dialogue = dialogues[room].find((each) => each.name === name);
  if (!dialogue) throw new Error(`There is no dialogue "${name}"`);
  for (const line of ["ip link set lo up", ...dialogue.prepare ?? []]) {
    const { code, stderr } = await new Deno.Command("sh", { args: ["-c", line] }).output();
    if (code !== 0) throw new Error(`${line}: ${text.decode(stderr)}`);
  }
  const { result, talk } = await recordTalk(dialogue.hold);
  return { name, outcome: result ?? null, talk: await packTalk(talk) };
}

async function recordRoom(room: string): Promise<void> {
  const lines: string[] = [];
  for (const { name } of dialogues[room]) {
    lines.push(JSON.stringify(await recordElsewhere(room, name)));
  }
  await Deno.writeTextFile(
    recordUrl(room),
    `{"kernel": "${Deno.osRelease()}", "dialogues": [\n${lines.join(",\n")}\n]}\n`,
  );
}

const [room, name] = Deno.args;
if (name !== undefined && !(name in dialogues)) {
  const recorded = await recordHere(room, name);
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(recorded)));
} else {
  const rooms = Deno.args.length > 0 ? Deno.args : Object.keys(dialogues);
  for (const room of rooms) await recordRoom(room);
}
