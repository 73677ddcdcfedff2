import assert from "node:assert/strict";
import type { CommandEntry } from "../../cmd/command.ts";
import { commandTree } from "../../cmd/commands.ts";
import { runCommand } from "../../cmd/run_command.ts";
import { runProgram } from "./surroundings.ts";

/** A command whose operands only it knows. */
const zoo: CommandEntry = {
  words: ["zoo"],
  summary: "feed the animals",
  load: () =>
    Promise.resolve({
      operands: [{
        name: "ANIMAL",
        repeated: true,
        offer: (context) => Promise.resolve(["ant", "bee", `saw:${context.arguments.operands}`]),
      }],
      flags: [],
      examples: [{ what: "Feed", command: "zoo ant" }],
      run: () => Promise.resolve(0),
    }),
};
const shut: CommandEntry = {
  ...zoo,
  words: ["shut"],
  load: async () => ({
    ...await zoo.load(),
    operands: [{ name: "ANIMAL", offer: () => Promise.reject(new Error("it is night")) }],
  }),
};
/** The flags of `run` without what it starts. */
const run: CommandEntry = {
  ...commandTree.entries[0],
  load: () => Promise.resolve(runCommand(() => Promise.resolve(0))),
};
const entries = [run, ...commandTree.entries.slice(1), zoo, shut];

async function answer(words: readonly string[]): Promise<readonly string[]> {
  const { exitCode, stdout, stderr } = await runProgram(["__complete", ...words], {
    entries,
    groups: commandTree.groups,
  });
  assert.deepEqual([exitCode, stderr], [0, ""]);
  return stdout.split("\n").slice(0, -1);
}

/** The words alone, without what they do. */
async function offered(words: readonly string[]): Promise<readonly string[]> {
  return (await answer(words)).map((line) => line.split("\t")[0]);
}

const cases: readonly { name: string; words: string[]; offers: readonly string[] }[] = [
  {
    name: "commands, groups and help",
    words: [""],
    offers: [
      "run",
      "cleanup",
      "doctor",
      "config",
      "namespaces",
      "completion",
      "zoo",
      "shut",
      "help",
    ],
  },
  { name: "a command begun", words: ["comp"], offers: ["completion"] },
  {
    name: "a group's commands",
    words: ["config", ""],
    offers: ["convert", "validate", "defaults", "schema"],
  },
  { name: "a group's command begun", words: ["config", "con"], offers: ["convert"] },
  {
    name: "flags of a group",
    words: ["config", "-"],
    offers: ["-h", "--help", "--logging-format=", "-v", "--version"],
  },
  {
    name: "what help explains",
    words: ["help", "config", "s"],
    offers: ["schema"],
  },
  {
    name: "what help explains first",
    words: ["help", "c"],
    offers: ["cleanup", "config", "completion"],
  },
  { name: "words of an operand", words: ["completion", ""], offers: ["bash", "fish", "zsh"] },
  { name: "nothing behind the last operand", words: ["completion", "zsh", ""], offers: [] },
  { name: "flags of a command", words: ["config", "convert", "--f"], offers: ["--fail-on-loss"] },
  { name: "each flag once", words: ["run", "-v"], offers: ["-v"] },
  { name: "flags of run without it", words: ["--proxy-m"], offers: ["--proxy-mode="] },
  { name: "flags of run", words: ["run", "--master"], offers: ["--master="] },
  { name: "flags after flags", words: ["run", "--once", "--dry"], offers: ["--dry-run"] },
  {
    name: "flags after a value that looks like a flag",
    words: ["run", "--master", "--once", "--dry"],
    offers: ["--dry-run"],
  },
  {
    name: "values after a flag",
    words: ["run", "--proxy-mode", "i"],
    offers: ["iptables", "ipvs"],
  },
  {
    name: "values after a flag with underscores",
    words: ["run", "--proxy_mode", "i"],
    offers: ["iptables", "ipvs"],
  },
  {
    name: "values after the sign, as whole words",
    words: ["--proxy-mode=nft"],
    offers: ["--proxy-mode=nftables"],
  },
  {
    name: "all values after the sign",
    words: ["--iptables-backend="],
    offers: ["auto", "legacy", "nft"].map((value) => `--iptables-backend=${value}`),
  },
  {
    name: "values of a letter",
    words: ["config", "validate", "-o", ""],
    offers: ["text", "json"],
  },
  {
    name: "values of a letter with a sign",
    words: ["config", "validate", "-o=j"],
    offers: ["-o=json"],
  },
  {
    name: "a gate",
    words: ["--feature-gates=KubeProxyI"],
    offers: ["--feature-gates=KubeProxyIPVS="],
  },
  { name: "files of a flag", words: ["run", "--config", ""], offers: [":files"] },
  { name: "files after a sign", words: ["run", "--config=co"], offers: [":files"] },
  { name: "files of an operand", words: ["config", "validate", "tw"], offers: [":files"] },
  {
    name: "files of a repeated operand",
    words: ["config", "validate", "a", ""],
    offers: [":files"],
  },
  {
    name: "no files beside words",
    words: ["--proxy-mode="],
    offers: [
      "--proxy-mode=iptables",
      "--proxy-mode=ipvs",
      "--proxy-mode=nftables",
    ],
  },
  {
    name: "operands after two dashes",
    words: ["config", "validate", "--", "-"],
    offers: [":files"],
  },
  { name: "what the command knows", words: ["zoo", "b"], offers: ["bee"] },
  {
    name: "what was not typed yet, with what was",
    words: ["zoo", "ant", "-v", "2", ""],
    offers: ["bee", "saw:ant"],
  },
  { name: "nothing where the command cannot tell", words: ["shut", ""], offers: [] },
  {
    name: "nothing where the line cannot be read",
    words: ["zoo", "--nothing-like-it", ""],
    offers: [],
  },
  { name: "no flags that are hidden", words: ["--healthz-p"], offers: [] },
  { name: "nothing for a free value", words: ["--master", "h"], offers: [] },
  { name: "nothing for an unknown flag", words: ["run", "--nothing-like-it="], offers: [] },
  { name: "nothing behind an unknown command", words: ["nothing", ""], offers: [] },
  {
    name: "nothing behind an unknown command of a group",
    words: ["config", "nothing", ""],
    offers: [],
  },
  { name: "commands, when nothing was typed at all", words: [], offers: await offered([""]) },
];

for (const { name, words, offers } of cases) {
  Deno.test(`completion offers ${name}`, async () => {
    assert.deepEqual(await offered(words), offers);
  });
}

Deno.test("completion says what commands and flags do", async () => {
  assert.deepEqual(await answer(["config", "def"]), [
    "defaults\tprint a configuration with every field, its default and its meaning",
  ]);
  assert.deepEqual(await answer(["names"]), [
    "namespaces\tchoose the namespaces that proxies leave alone",
  ]);
  assert.deepEqual(await answer(["config", "schema", "--vers"]), [
    "--version\tprint the version and exit",
  ]);
});

Deno.test("completion refuses a shell it does not know", async () => {
  const { exitCode, stderr } = await runProgram(["completion", "bsh"], { entries });
  assert.deepEqual([exitCode, stderr], [2, 'Error: Unknown shell "bsh"; did you mean "bash"?\n']);
});
