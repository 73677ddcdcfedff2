/** What the older engine's tools may do to a writer, and that the next sync puts right whatever they did. */
import assert from "node:assert/strict";
import { type Commands, SystemCommands } from "../../../lib/kernel/commands.ts";
import { FakeNfacct } from "../../../lib/kernel/nfacct/fake_nfacct.ts";
import { LegacyXtables } from "../../../lib/kernel/xtables/legacy_xtables.ts";
import { Counters } from "../../../lib/writers/iptables/counters.ts";
import { invalidCounter, localhostCounter } from "../../../lib/writers/iptables/names.ts";
import { IptablesWriter } from "../../../lib/writers/iptables/writer.ts";
import { everyShape, plainFacts, snapshotOf } from "../../lib/writers/iptables/samples.ts";
import { XtNamespace } from "../xtables/namespace.ts";

const signal = new AbortController().signal;
const all = { kind: "all" } as const;
const shapes = everyShape("IPv4");
const whole = snapshotOf("IPv4", shapes);
/** Of more than one table. */
const changed = shapes.slice(0, shapes.length / 2);
const without = snapshotOf("IPv4", shapes.slice(changed.length));
const keys = new Set(changed.map(({ key }) => key));
const change = { kind: "some", services: keys, settings: false } as const;
const searchPath = "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin";
/** A restore of the samples ends within a fraction of it. */
const LONGEST_RUN_MS = 3_000;

/** What stands in a tool's place. */
interface Fault {
  readonly name: string;
  readonly tool: "iptables-legacy-restore" | "iptables-legacy-save";
  /** Of a shell; `$real` is the tool. */
  readonly script: string;
  /** What the sync fails with; absent where it finds out what was written, and goes on from there. */
  readonly error?: { readonly name: string; readonly message: string | RegExp };
}

const faults: readonly Fault[] = [
  {
    name: "a restore is killed before it did anything",
    tool: "iptables-legacy-restore",
    script: "kill -9 $$",
    error: { name: "CommandError", message: /iptables-legacy-restore .*": killed by SIGKILL$/ },
  },
  {
    name: "a restore is killed when it had done its work",
    tool: "iptables-legacy-restore",
    script: '$real "$@"; kill -9 $$',
    error: { name: "CommandError", message: /iptables-legacy-restore .*": killed by SIGKILL$/ },
  },
  {
    name: "a restore writes its first table alone",
    tool: "iptables-legacy-restore",
    script: 'sed "/^COMMIT/q" | $real "$@"; exit 1',
  },
  {
    name: "a restore does its work, and says that it failed",
    tool: "iptables-legacy-restore",
    script: '$real "$@"; echo "line 7 failed" >&2; exit 1',
  },
  {
    name: "a restore hangs, and so do its children",
    tool: "iptables-legacy-restore",
    script: "trap '' TERM; sleep 1000",
    error: {
      name: "CommandError",
      message: 'Cannot run "iptables-legacy-restore -w 5 --noflush": no end after 3 s',
    },
  },
  {
    name: "a restore fails without a word",
    tool: "iptables-legacy-restore",
    script: "exit 3",
    error: { name: "XtablesError", message: "Cannot change rules of iptables: exit code 3" },
  },
  {
    name: "a save is nonsense",
    tool: "iptables-legacy-save",
    script: "echo Segmentation fault",
    error: {
      name: "SyntaxError",
      message: "Cannot read the save of iptables: line 1 is unexpected: Segmentation fault",
    },
  },
  {
    name: "a save ends early",
    tool: "iptables-legacy-save",
    script: '$real "$@" | head -n 20',
    error: { name: "SyntaxError", message: /^Cannot read the save of iptables: / },
  },
];

/** Tools of which some can be replaced, with a lock of their own. */
class FaultyTools implements Disposable {
  readonly #namespace: XtNamespace;
  readonly #folder = Deno.makeTempDirSync({ prefix: "kpt-faulty-" });
  readonly #system = new SystemCommands(searchPath);

  constructor(namespace: XtNamespace) {
    this.#namespace = namespace;
  }

  /** The file of iptables' lock. */
  get lock(): string {
    return `${this.#folder}/lock`;
  }

  get commands(): Commands {
    const env = { PATH: `${this.#folder}:${searchPath}`, XTABLES_LOCKFILE: this.lock };
    const inside = ["ip", "netns", "exec", this.#namespace.name];
    return {
      lookPath: (name) => this.#system.lookPath(name),
      run: (argv, options) => this.#system.run([...inside, ...argv], { ...options, env }),
    };
  }

  put({ script, tool }: Fault): void {
    const real = this.#system.lookPath(tool);
    const text = `#!/bin/sh\nreal=${real}\n${script}\n`;
    Deno.writeTextFileSync(`${this.#folder}/${tool}`, text, { mode: 0o755 });
  }

  mend({ tool }: Fault): void {
    Deno.removeSync(`${this.#folder}/${tool}`);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}

function writerWith(namespace: XtNamespace, { commands }: FaultyTools): IptablesWriter {
  const tables = namespace.legacyTables();
  return new IptablesWriter({
    family: "IPv4",
    xtables: new LegacyXtables({ commands, tables, longestRunMs: LONGEST_RUN_MS }),
    facts: plainFacts,
    counters: new Counters(new FakeNfacct()),
  });
}

Deno.test("whatever the older engine's tools do, the next sync puts it right", async (test) => {
  await using namespace = await XtNamespace.create();
  for (const name of [invalidCounter, localhostCounter]) namespace.addCounter(name);
  using tools = new FaultyTools(namespace);
  await using writer = writerWith(namespace, tools);
  await writer.sync(whole, all, signal);
  const before = await linesOf(namespace);
  for (const [index, fault] of faults.entries()) {
    await test.step(fault.name, async () => {
      tools.put(fault);
      const isSave = fault.tool === "iptables-legacy-save";
      const asked = isSave ? all : change;
      // Only what nobody else has words for is asked of the tool that saves.
      const foreign = (action: string) =>
        namespace.run(["iptables-legacy", action, "FORWARD", "-p", String(47 + index)]);
      if (isSave) await foreign("-A");
      const started = performance.now();
      try {
        const syncing = writer.sync(without, asked, signal);
        if (fault.error) await assert.rejects(syncing, fault.error);
        else await syncing;
      } finally {
        tools.mend(fault);
      }
      assert.ok(performance.now() - started < 3 * LONGEST_RUN_MS);
      await writer.sync(whole, change, signal);
      if (isSave) await foreign("-D");
      assert.deepEqual(await linesOf(namespace), before);
      assert.equal((await writer.sync(whole, all, signal)).written, 0);
    });
  }
});

Deno.test("a change waits for iptables' lock, for longer than a tool does, and nothing is read for it", async () => {
  await using namespace = await XtNamespace.create();
  for (const name of [invalidCounter, localhostCounter]) namespace.addCounter(name);
  using tools = new FaultyTools(namespace);
  await using writer = new IptablesWriter({
    family: "IPv4",
    xtables: new LegacyXtables({ commands: tools.commands, tables: namespace.legacyTables() }),
    facts: plainFacts,
    counters: new Counters(new FakeNfacct()),
  });
  await writer.sync(without, all, signal);
  const holder = new Deno.Command("flock", {
    args: [tools.lock, "sh", "-c", "echo held; exec sleep 6"],
    stdout: "piped",
  }).spawn();
  const [held] = await Array.fromAsync(take(holder.stdout, 1));
  assert.equal(new TextDecoder().decode(held), "held\n");
  const report = await writer.sync(whole, change, signal);
  assert.deepEqual([report.full, report.notices], [false, []]);
  assert.equal((await writer.sync(whole, all, signal)).written, 0);
  await holder.status;
});

async function* take<T>(stream: ReadableStream<T>, count: number): AsyncGenerator<T> {
  for await (const each of stream) {
    yield each;
    if (--count === 0) return;
  }
}

/** Sorted: the order of Services in shared chains is free. */
async function linesOf(namespace: XtNamespace): Promise<readonly string[]> {
  const saves = [];
  for (const table of ["filter", "nat", "mangle"]) {
    saves.push(await namespace.save({ family: "IPv4", backend: "legacy", table }));
  }
  return saves.join("\n").split("\n").toSorted();
}
