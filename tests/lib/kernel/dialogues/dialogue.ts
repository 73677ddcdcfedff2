/** Talks with the kernel that were recorded once and are held again in unit tests. */
import type { Talk } from "../../../fakes/recorded_kernel.ts";

/** One talk in a network namespace of its own. */
export interface Dialogue {
  readonly name: string;
  /** Lines for a shell that make the namespace what it is. */
  readonly prepare?: readonly string[];
  /** What it returns is recorded beside what was said, to be read by people and compared. */
  hold(): Promise<unknown>;
}

/** A dialogue as it was held on a kernel. */
export interface RecordedDialogue {
  readonly name: string;
  readonly outcome: unknown;
  /** See `packTalk`. */
  readonly talk: string;
}

/** The kernel's release, and its dialogues by name. */
export interface DialogueRecord {
  readonly kernel: string;
  readonly dialogues: readonly RecordedDialogue[];
}

/** A talk as text of a tenth of its length. */
export async function packTalk(talk: Talk): Promise<string> {
  const bytes = await piped(
    new TextEncoder().encode(talk.join(" ")),
    new CompressionStream("gzip"),
  );
  return bytes.toBase64();
}

/** The talk again. */
export async function unpackTalk(text: string): Promise<Talk> {
  const bytes = await piped(Uint8Array.fromBase64(text), new DecompressionStream("gzip"));
  return new TextDecoder().decode(bytes).split(" ");
}

async function piped(
  bytes: Uint8Array<ArrayBuffer>,
  through: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  return await new Response(new Blob([bytes]).stream().pipeThrough(through)).bytes();
}

/** `sudo deno run -A tests/kernel/record_dialogues.ts` writes it anew. */
export function recordUrl(room: string): URL {
  return new URL(`../../../golden/netlink/${room}.json`, import.meta.url);
}
