import assert from "node:assert/strict";
import { FakeCommands } from "../../../../lib/kernel/fake_commands.ts";
import { isRefusal } from "../../../../lib/kernel/xtables/errors.ts";
import { FakeLegacyTables } from "../../../../lib/kernel/xtables/fake_legacy_tables.ts";
import { LegacyXtables } from "../../../../lib/kernel/xtables/legacy_xtables.ts";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import { entryOffsets, tableBytes } from "./legacy_table_bytes.ts";
import type { XtRefusal } from "../../../../lib/kernel/xtables/xtables.ts";

const jump = { matches: [], target: { kind: "jump", chain: "B" } } as const;
const changes: readonly XtChange[] = [
  { kind: "add-table", table: "nat" },
  { kind: "add-chain", table: "nat", chain: "A" },
  { kind: "append-rule", table: "nat", chain: "A", rule: jump },
];

/** A backend whose tools answer as the test says. */
function backend(
  programs: ConstructorParameters<typeof FakeCommands>[0],
  tables: FakeLegacyTables = new FakeLegacyTables(),
): { readonly xtables: LegacyXtables; readonly commands: FakeCommands } {
  const commands = new FakeCommands(programs);
  return { commands, xtables: new LegacyXtables({ commands, tables }) };
}

Deno.test("a commit is one restore of the family's tool, which waits for the lock", async () => {
  const inputs: string[] = [];
  const { commands, xtables } = backend({
    "ip6tables-legacy-restore": (_, input) => (inputs.push(input), {}),
  });
  await xtables.commit("IPv6", changes);
  assert.deepEqual(commands.ran, ["ip6tables-legacy-restore -w 5 --noflush"]);
  assert.deepEqual(inputs, ["*nat\n:A - [0:0]\n-A A -j B\nCOMMIT\n"]);
  assert.equal(await xtables.commit("IPv6", []), undefined);
  assert.equal(commands.ran.length, 1);
});

Deno.test("what is put together waits for the lock as long as three commits", async () => {
  const inputs: string[] = [];
  const { commands, xtables } = backend({
    "iptables-legacy-restore": (_, input) => (inputs.push(input), {}),
  });
  const composition = xtables.compose("IPv4", { first: "nat" });
  composition.add(changes);
  assert.deepEqual(await composition.commit(), { before: "", after: "", isOwn: true });
  assert.deepEqual(commands.ran, ["iptables-legacy-restore -w 15 --noflush"]);
  assert.deepEqual(inputs, ["*nat\n:A - [0:0]\n-A A -j B\nCOMMIT\n"]);
});

const refusals: readonly (readonly [
  exitCode: number,
  stderr: string,
  change: number,
  refusal: XtRefusal,
  message: string,
])[] = [
  [1, "iptables-restore: line 3 failed\n", 2, "other", "line 3 failed"],
  [1, "iptables-restore: line 4 failed\n", -1, "other", "line 4 failed"],
  [
    2,
    "iptables-restore v1.8.9 (legacy): Couldn't load target `B':No such file or directory\n\n" +
    "Error occurred at line: 3\nTry `iptables-restore -h' for more information.\n",
    2,
    "not-found",
    "Couldn't load target `B':No such file or directory",
  ],
  [
    2,
    "iptables-restore v1.8.9 (legacy): Couldn't load match `recent':No such file or directory\n\n" +
    "Error occurred at line: 3\n",
    2,
    "unsupported",
    "Couldn't load match `recent':No such file or directory",
  ],
  [
    3,
    "iptables-restore v1.8.9 (legacy): iptables-restore: unable to initialize table 'nat'\n\n" +
    "Error occurred at line: 1\n",
    -1,
    "other",
    "iptables-restore: unable to initialize table 'nat'",
  ],
  [
    4,
    "Another app is currently holding the xtables lock; still 4s 0us time ahead to have a chance to grab the lock...\n",
    -1,
    "locked",
    "Another app is currently holding the xtables lock; still 4s 0us time ahead to have a chance to grab the lock...",
  ],
  [
    4,
    "Can't lock /run/xtables.lock: Resource temporarily unavailable\n" +
    "Another app is currently holding the xtables lock. Stopped waiting after 5s.\n",
    -1,
    "locked",
    "Another app is currently holding the xtables lock. Stopped waiting after 5s.",
  ],
  [
    4,
    "iptables-restore: line 4 failed: Resource temporarily unavailable.\n",
    -1,
    "stale",
    "line 4 failed: Resource temporarily unavailable.",
  ],
  [
    3,
    "iptables-restore v1.8.9 (legacy): iptables-restore: Permission denied (you must be root)\n",
    -1,
    "not-permitted",
    "iptables-restore: Permission denied (you must be root)",
  ],
  [7, "", -1, "other", "exit code 7"],
];

Deno.test("what the tool says of a refusal finds its change", async () => {
  for (const [exitCode, stderr, change, refusal, message] of refusals) {
    const { xtables } = backend({ "iptables-legacy-restore": () => ({ exitCode, stderr }) });
    await assert.rejects(xtables.commit("IPv4", changes), (error) => {
      assert.ok(isRefusal(error, refusal), String(error));
      assert.deepEqual(error.failures, [{ change, refusal, message }]);
      return true;
    });
  }
});

Deno.test("a tool that is not installed is named", async () => {
  const { xtables } = backend({});
  await assert.rejects(xtables.commit("IPv4", changes), {
    name: "CommandError",
    message: 'Cannot run "iptables-legacy-restore -w 5 --noflush": it is not installed',
  });
});

Deno.test("only tables that are there are asked for, and no tool", async () => {
  const tables = new FakeLegacyTables();
  tables.tables.set("IPv4 nat", { entries: 5, bytes: 800 });
  tables.tables.set("IPv4 mangle", { entries: 6, bytes: 900 });
  tables.blobs.set("IPv4 nat", tableBytes([{ name: "OUTPUT", hook: 3, rules: [] }], "IPv4"));
  const { commands, xtables } = backend({}, tables);
  const { chains } = await xtables.read("IPv4", ["nat", "filter"]);
  assert.deepEqual(chains.map(({ fingerprint: _, ...chain }) => chain), [
    { table: "nat", name: "OUTPUT", isBuiltIn: true },
  ]);
  assert.deepEqual(commands.ran, []);
  assert.equal(await xtables.stamp("IPv4"), "mangle 6/900, nat 5/800");
});

Deno.test("a stamp tells which tables moved", () => {
  const { xtables } = backend({});
  const before = "mangle 6/900, nat 5/800";
  assert.deepEqual(xtables.moved(before, before), []);
  assert.deepEqual(xtables.moved(before, "mangle 6/900, nat 5/801"), ["nat"]);
  assert.deepEqual(xtables.moved(before, "nat 5/800, filter 5/800"), ["mangle", "filter"]);
  assert.deepEqual(xtables.moved(before, ""), ["mangle", "nat"]);
});

Deno.test("a rule without words for it is asked of the tool; a save that is none is one sentence", async () => {
  const tables = new FakeLegacyTables();
  tables.tables.set("IPv4 nat", { entries: 5, bytes: 800 });
  const edit = (entry: Uint8Array) => entry[entryOffsets.IPv4.protocol] = 47;
  const rules = [{ matches: [] }];
  tables.blobs.set("IPv4 nat", tableBytes([{ name: "OUTPUT", hook: 3, rules, edit }], "IPv4"));
  const read = async (answer: { exitCode?: number; stdout?: string; stderr?: string }) => {
    const { commands, xtables } = backend({ "iptables-legacy-save": () => answer }, tables);
    const reading = await xtables.read("IPv4", ["nat"]);
    const found = (await reading.rules("nat", ["OUTPUT"])).get("OUTPUT");
    assert.deepEqual(commands.ran, ["iptables-legacy-save -t nat"]);
    return found;
  };
  const stdout = "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -p gre\nCOMMIT\n";
  assert.deepEqual(await read({ stdout }), [{ key: "? -p gre" }]);
  await assert.rejects(read({ stdout: "Segmentation fault\n" }), {
    message: "Cannot read the save of iptables: line 1 is unexpected: Segmentation fault",
  });
  await assert.rejects(read({ exitCode: 1, stderr: "iptables-save: no memory\n" }), {
    message: 'Cannot run "iptables-legacy-save -t nat": exit code 1: iptables-save: no memory',
  });
});

Deno.test("a commit that nobody wants any more is not begun", async () => {
  const { commands, xtables } = backend({ "iptables-legacy-restore": () => ({}) });
  await assert.rejects(xtables.commit("IPv4", changes, { signal: AbortSignal.abort() }));
  assert.deepEqual(commands.ran, []);
});
