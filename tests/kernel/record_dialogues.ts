/**
 * Holds every dialogue of `tests/lib/kernel/dialogues/` on this machine's kernel, each in a network
 * namespace of its own, and records what was said for the unit tests. What the dialogues themselves
 * assert is asserted here as well; those about IPVS are held in a virtual machine. Needed again when we speak otherwise, or have more to say.
 *
 *   sudo deno run -A tests/kernel/record_dialogues.ts [ROOM...]
 */
import { recordTalk } from "../fakes/recorded_kernel.ts";
import { packTalk, type RecordedDialogue, recordUrl } from "../lib/kernel/dialogues/dialogue.ts";
import { dialogues } from "../lib/kernel/dialogues/dialogues.ts";
import { Drive } from "../vm/drive.ts";
import { provideTools, runGuest } from "../vm/guest.ts";
import { toldBy } from "../vm/outside.ts";
import { complaintOf } from "../vm/verdict.ts";

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
  if (room === "ipvs") return await recordInGuest(room);
  const records: RecordedDialogue[] = [];
  for (const { name } of dialogues[room]) records.push(await recordElsewhere(room, name));
  await write(room, Deno.osRelease(), records);
}

/** On a kernel with IPVS, which that of this machine may lack. */
async function recordInGuest(room: string): Promise<void> {
  const script = "tests/vm/record/ipvs_dialogues.ts";
  const kernel = "6.1";
  const tools = await provideTools();
  await using drive = await Drive.create();
  const verdicts = await runGuest({ tools, drive, kernel, tests: [script], limitSeconds: 300 });
  const verdict = verdicts.get(script);
  if (verdict?.kind !== "passed") {
    throw new Error(`Cannot record: ${verdict ? complaintOf(verdict) : "the guest ran nothing"}`);
  }
  const release = (await Deno.readTextFile(`${tools}/${kernel}/version`)).trim();
  await write(room, release, toldBy<RecordedDialogue>(verdict.output, "recorded"));
}

async function write(
  room: string,
  kernel: string,
  records: readonly RecordedDialogue[],
): Promise<void> {
  const lines = records.map((record) => JSON.stringify(record)).join(",\n");
  await Deno.writeTextFile(
    recordUrl(room),
    `{"kernel": "${kernel}", "dialogues": [\n${lines}\n]}\n`,
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
