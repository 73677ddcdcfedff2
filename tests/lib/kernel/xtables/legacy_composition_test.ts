/** Changes that the tool reads while more of them come. */
import assert from "node:assert/strict";
import type { CommandResult } from "../../../../lib/kernel/commands.ts";
import { isRefusal } from "../../../../lib/kernel/xtables/errors.ts";
import { LegacyComposition } from "../../../../lib/kernel/xtables/legacy_composition.ts";
import type { XtChange, XtTable } from "../../../../lib/kernel/xtables/rules.ts";

const addChain = (chain: string, table: XtTable = "nat"): XtChange => ({
  kind: "add-chain",
  table,
  chain,
});

/** A tool that notes what it reads, and ends as the test says. */
function composing(end: () => Partial<CommandResult> = () => ({})) {
  const pieces: string[] = [];
  const sizes = ["0", "1", "2"];
  let ended = false;
  const composition = new LegacyComposition({
    family: "IPv4",
    first: "nat",
    stamp: () => sizes.shift() ?? "none",
    restore: async (input) => {
      for await (const piece of input) pieces.push(piece);
      ended = true;
      return { exitCode: 0, stdout: "", stderr: "", ...end() };
    },
  });
  return { composition, pieces, sizes, hasEnded: () => ended };
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("the tool reads the first line at once, and all that follows in large pieces", async () => {
  const { composition, pieces } = composing();
  composition.add([{ kind: "add-table", table: "nat" }]);
  await turn();
  assert.equal(pieces.length, 0);
  composition.add([addChain("A")]);
  await turn();
  assert.deepEqual(pieces, ["*nat\n"]);
  for (let i = 0; i < 10_000; i++) {
    composition.add([addChain(`KUBE-${i}`)]);
    if (i % 100 === 0) await turn();
  }
  const sizes = pieces.slice(1).map((piece: string) => piece.length);
  assert.ok(sizes.length > 1 && sizes.every((size) => size >= 65_536), sizes.join());
  assert.equal(composition.count, 10_002);
  await composition.commit();
  const lines = pieces.join("").split("\n");
  const names = Array.from({ length: 10_000 }, (_, i) => `:KUBE-${i} - [0:0]`);
  assert.deepEqual(lines.toSorted(), ["", "*nat", ":A - [0:0]", ...names, "COMMIT"].toSorted());
  const some = lines.slice(1, 501);
  assert.deepEqual([lines[0], some, lines.at(-2)], ["*nat", some.toSorted(), "COMMIT"]);
});

Deno.test("one table is written behind the other, the one that the tool reads first before all", async () => {
  const { composition, pieces, sizes } = composing();
  composition.add([
    addChain("F", "filter"),
    addChain("A"),
    { kind: "flush-chain", table: "nat", chain: "OLD" },
    { kind: "delete-chain", table: "nat", chain: "OLD" },
    addChain("M", "mangle"),
  ]);
  composition.add([addChain("G", "filter"), addChain("B")]);
  assert.deepEqual(await composition.commit(), { before: "0", after: "1", isOwn: true });
  assert.equal(
    pieces.join(""),
    "*nat\n:A - [0:0]\n-F OLD\n-X OLD\n:B - [0:0]\nCOMMIT\n" +
      "*filter\n:F - [0:0]\n:G - [0:0]\nCOMMIT\n*mangle\n:M - [0:0]\nCOMMIT\n",
  );
  assert.deepEqual(sizes, ["2"]);
});

Deno.test("new chains go before the rules of others, and before nothing else", async () => {
  const { composition, pieces } = composing();
  const rule = { matches: [] };
  const append = (chain: string): XtChange => ({ kind: "append-rule", table: "nat", chain, rule });
  composition.add([addChain("B"), append("B"), addChain("A"), append("A"), append("B")]);
  composition.add([{ kind: "delete-chain", table: "nat", chain: "C" }, append("D")]);
  composition.add([addChain("C"), { kind: "flush-chain", table: "nat", chain: "B" }]);
  await composition.commit();
  assert.equal(
    pieces.join(""),
    "*nat\n:A - [0:0]\n:B - [0:0]\n-A B\n-A A\n-A B\n-X C\n:C - [0:0]\n-A D\n:B - [0:0]\nCOMMIT\n",
  );
});

Deno.test("a table that nothing is changed in is not touched", async () => {
  const { composition, pieces } = composing();
  const rule = { matches: [] };
  const gone: XtChange = { kind: "delete-rule", table: "filter", chain: "F", rule };
  assert.ok(composition.takes());
  composition.add([gone]);
  await turn();
  assert.deepEqual(pieces, []);
  await composition.commit();
  assert.equal(pieces.join(""), "*filter\n-D F\nCOMMIT\n");
});

Deno.test("what is given up ends without the line that has it written", async () => {
  const begun = composing(() => ({ exitCode: 1 }));
  begun.composition.add([addChain("A"), addChain("F", "filter")]);
  await begun.composition.abandon();
  assert.ok(begun.hasEnded());
  assert.equal(begun.pieces.join(""), "*nat\n");
  const idle = composing();
  idle.composition.add([addChain("F", "filter")]);
  await idle.composition.abandon();
  assert.deepEqual([idle.hasEnded(), idle.sizes.length], [false, 3]);
});

Deno.test("a refusal names no change, since none was kept", async () => {
  const stderr = "iptables-restore: line 2 failed\n";
  const { composition } = composing(() => ({ exitCode: 1, stderr }));
  composition.add([addChain("A")]);
  await assert.rejects(composition.commit(), (error) => {
    assert.ok(isRefusal(error, "other"), String(error));
    assert.deepEqual(error.failures.map(({ change }) => change), [-1]);
    return true;
  });
});

Deno.test("a tool that ends while others are still adding tells it at the end", async () => {
  const composition = new LegacyComposition({
    family: "IPv4",
    first: "nat",
    stamp: () => "",
    restore: () => Promise.reject(new Error("it is not installed")),
  });
  composition.add([addChain("A")]);
  await turn();
  composition.add([addChain("B")]);
  await turn();
  await assert.rejects(composition.commit(), { message: "it is not installed" });
});
