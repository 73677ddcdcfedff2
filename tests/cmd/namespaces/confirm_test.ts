import assert from "node:assert/strict";
import { confirm } from "../../../cmd/namespaces/confirm.ts";

interface Asked {
  readonly answer: boolean;
  readonly said: string;
}

/** What a person is asked who types these pieces, or presses Ctrl-C. */
async function ask(
  pieces: Iterable<Uint8Array | string> | ReadableStream<Uint8Array>,
  signal = new AbortController().signal,
): Promise<Asked> {
  let said = "";
  const encoder = new TextEncoder();
  const readable = pieces instanceof ReadableStream ? pieces : ReadableStream.from(
    [...pieces].map((piece) => typeof piece === "string" ? encoder.encode(piece) : piece),
  );
  const answer = await confirm("Really?", {
    stdin: { readable, isTerminal: true },
    stderr: { write: (text) => void (said += text), isTerminal: true },
    signal,
  });
  return { answer, said };
}

const rows: readonly (readonly [pieces: readonly (Uint8Array | string)[], answer: boolean])[] = [
  [["y\n"], true],
  [["y", "es\n"], true],
  [["Y", "\n"], true],
  [["yes"], true],
  [["y\nno\n"], true],
  [["n\ny\n"], false],
  [["\ny\n"], false],
  [["n", "y\n"], false],
  [["yes please\n"], false],
  [[], false],
  [[Uint8Array.of(0xc3), Uint8Array.of(0xa4, 10)], false],
];

for (const [pieces, answer] of rows) {
  Deno.test(`confirm() takes ${JSON.stringify(pieces)} for ${answer ? "yes" : "no"}`, async () => {
    const asked = await ask(pieces);
    assert.equal(asked.answer, answer);
    const isWhole = pieces.some((piece) => typeof piece !== "string" || piece.includes("\n"));
    assert.equal(asked.said, `Really? [y/N] ${isWhole ? "" : "\n"}`);
  });
}

Deno.test("confirm() takes Ctrl-C for no, on a line of its own", async () => {
  const stop = new AbortController();
  const silent = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("y")),
  });
  const asked = ask(silent, stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 0));
  stop.abort();
  assert.deepEqual(await asked, { answer: false, said: "Really? [y/N] \n" });
});
