import assert from "node:assert/strict";
import { CommandError, expectSuccess, SystemCommands } from "../../../lib/kernel/commands.ts";
import { FakeCommands } from "../../../lib/kernel/fake_commands.ts";

const system = new SystemCommands("/usr/sbin:/usr/bin:/sbin:/bin");

Deno.test("SystemCommands finds programs as a shell does, but never in the current folder", () => {
  assert.match(system.lookPath("sh") ?? "", /^\/(usr\/)?bin\/sh$/);
  assert.equal(system.lookPath("no-such-program"), undefined);
  assert.equal(new SystemCommands("::.").lookPath("sh"), undefined);
  assert.equal(system.lookPath("/etc/passwd"), undefined, "not executable");
  assert.equal(system.lookPath("/bin"), undefined, "not a file");
});

Deno.test("SystemCommands gives input, output and exit code", async () => {
  const script = "cat; echo oops >&2; exit 3";
  assert.deepEqual(await system.run(["sh", "-c", script], { input: "hello" }), {
    exitCode: 3,
    stdout: "hello",
    stderr: "oops\n",
  });
});

Deno.test("SystemCommands gives a program the environment it is told, beside its own", async () => {
  const { stdout } = await system.run(["sh", "-c", 'echo "$WHO" "$PATH"'], { env: { WHO: "me" } });
  assert.equal(stdout, `me ${Deno.env.get("PATH")}\n`);
});

Deno.test("SystemCommands gives pieces while they are made, and ends the input where one cannot be", async () => {
  function* pieces(isWhole: boolean) {
    yield "one ";
    if (!isWhole) throw new TypeError("no more");
    yield "two";
  }
  const { stdout } = await system.run(["cat"], { input: pieces(true) });
  assert.equal(stdout, "one two");
  await assert.rejects(system.run(["cat"], { input: pieces(false) }), { message: "no more" });
});

Deno.test("SystemCommands survives a program that does not read its input", async () => {
  const { exitCode } = await system.run(["true"], { input: "x".repeat(1 << 20) });
  assert.equal(exitCode, 0);
});

Deno.test("SystemCommands kills a program when told to", async () => {
  const stop = new AbortController();
  const running = system.run(["sh", "-c", "exec sleep 60"], { signal: stop.signal });
  stop.abort();
  await assert.rejects(running, { name: "CommandError", message: /: killed by SIGKILL$/ });
  await assert.rejects(system.run(["sleep", "60"], { signal: stop.signal }), CommandError);
});

Deno.test("SystemCommands kills what a program started too, also one that wants to live", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kpt-commands-" });
  try {
    const stop = new AbortController();
    const script = "trap '' TERM; sleep 60 & echo $! >$0; mv $0 $0-ready; wait; wait";
    const running = system.run(["sh", "-c", script, `${folder}/pid`], { signal: stop.signal });
    const ready = async () => {
      for await (const { name } of Deno.readDir(folder)) if (name === "pid-ready") return true;
      return false;
    };
    while (!await ready());
    const pid = (await Deno.readTextFile(`${folder}/pid-ready`)).trim();
    stop.abort();
    await assert.rejects(running, CommandError);
    // A killed program of a busy machine may still have to get a processor to die on.
    const deadline = performance.now() + 10_000;
    while (!/^(Z|gone)/.test(await stateOf(pid))) {
      assert.ok(performance.now() < deadline, await stateOf(pid));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function stateOf(pid: string): Promise<string> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => ") gone");
  return stat.split(") ")[1];
}

Deno.test("SystemCommands leaves a program alone that has ended before", async () => {
  const stop = new AbortController();
  assert.equal((await system.run(["true"], { signal: stop.signal })).exitCode, 0);
  stop.abort();
});

Deno.test("SystemCommands says which program is missing", async () => {
  await assert.rejects(system.run(["no-such-program", "-x"]), {
    name: "CommandError",
    message: 'Cannot run "no-such-program -x": "no-such-program" is not installed; install it',
  });
});

Deno.test("expectSuccess() quotes the last words of a program that failed", () => {
  const argv = ["ipset", "list"];
  const fine = { exitCode: 0, stdout: "x", stderr: "" };
  assert.equal(expectSuccess(argv, fine), fine);
  assert.throws(
    () => expectSuccess(argv, { exitCode: 1, stdout: "", stderr: "a\nno such set\n" }),
    { message: 'Cannot run "ipset list": exit code 1: no such set', exitCode: 1 },
  );
});

Deno.test("FakeCommands runs what the test wrote and lacks everything else", async () => {
  const commands = new FakeCommands({ ipset: (args, input) => ({ stdout: `${args} ${input}` }) });
  const result = await commands.run(["ipset", "list"], { input: "in" });
  assert.deepEqual(result, { exitCode: 0, stdout: "list in", stderr: "" });
  assert.deepEqual(commands.ran, ["ipset list"]);
  assert.equal(commands.lookPath("modprobe"), undefined);
  await assert.rejects(commands.run(["modprobe"]), CommandError);
});
