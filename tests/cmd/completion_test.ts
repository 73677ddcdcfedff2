import assert from "node:assert/strict";
import type { CommandEntry } from "../../cmd/command.ts";
import { commandTree } from "../../cmd/commands.ts";
import { completionCommand } from "../../cmd/completion.ts";
import type { CommandTree } from "../../cmd/dispatch.ts";
import { runCommand } from "../../cmd/run_command.ts";
import { runProgram } from "./surroundings.ts";

const run: CommandEntry = {
  words: ["run"],
  summary: "program this node's kernel",
  load: () => Promise.resolve(runCommand(() => Promise.resolve(0))),
};
const completion: CommandEntry = {
  words: ["completion"],
  summary: "print a completion script",
  load: () => Promise.resolve(completionCommand(() => tree)),
};
const others = commandTree.entries.filter(({ words }) =>
  words[0] !== "run" && words[0] !== "completion"
);
const tree: CommandTree = { ...commandTree, entries: [run, ...others, completion] };

async function scriptFor(shell: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(["completion", shell], {
    entries: tree.entries,
    groups: tree.groups,
  });
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

async function have(shell: string): Promise<boolean> {
  const { success } = await new Deno.Command("sh", { args: ["-c", `command -v ${shell}`] })
    .output();
  return success;
}

/** What bash would offer for these words, of which the last is being typed. */
async function bashOffers(
  words: readonly string[],
  directory: string,
  { program = "kube-proxy", home = directory } = {},
): Promise<string[]> {
  const driver = [
    // The program, as the script asks it: what it was asked comes back as the offer.
    'kube-proxy() { echo "asked:${*// /+}" | tr " " "+"; }',
    'eval "$KUBE_PROXY_SCRIPT"',
    'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))',
    "_kube_proxy",
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join("\n");
  const { stdout, stderr, success } = await new Deno.Command("bash", {
    args: ["--norc", "-c", driver, "bash", program, ...words],
    env: { KUBE_PROXY_SCRIPT: await scriptFor("bash"), HOME: home },
    cwd: directory,
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "").sort();
}

const offers: readonly { name: string; words: string[]; offered: string[] | RegExp }[] = [
  { name: "commands", words: [""], offered: ["completion", "config", "help", "namespaces", "run"] },
  { name: "a command begun", words: ["comp"], offered: ["completion"] },
  {
    name: "a group's commands",
    words: ["config", ""],
    offered: ["convert", "defaults", "schema", "validate"],
  },
  { name: "a group's command begun", words: ["config", "con"], offered: ["convert"] },
  { name: "shells", words: ["completion", ""], offered: ["bash", "fish", "zsh"] },
  { name: "flags of a command", words: ["config", "convert", "--f"], offered: ["--fail-on-loss"] },
  { name: "flags of run without it", words: ["--proxy-m"], offered: ["--proxy-mode="] },
  { name: "flags of run", words: ["run", "--master"], offered: ["--master="] },
  { name: "flags after flags", words: ["run", "--once", "--dry"], offered: ["--dry-run"] },
  {
    name: "values after a flag",
    words: ["run", "--proxy-mode", "i"],
    offered: ["iptables", "ipvs"],
  },
  { name: "values after the sign", words: ["--proxy-mode", "=", "nft"], offered: ["nftables"] },
  {
    name: "all values after the sign",
    words: ["--iptables-backend", "="],
    offered: ["auto", "legacy", "nft"],
  },
  {
    name: "values of a letter",
    words: ["config", "validate", "-o", ""],
    offered: ["json", "text"],
  },
  { name: "a gate", words: ["--feature-gates", "=", "KubeProxyI"], offered: ["KubeProxyIPVS="] },
  { name: "files of a flag", words: ["run", "--config", ""], offered: ["one.yaml", "two.yaml"] },
  { name: "files of an operand", words: ["config", "validate", "tw"], offered: ["two.yaml"] },
  {
    name: "what the program knows",
    words: ["namespaces", "opt-out", ""],
    offered: ["asked:__complete+opt-out"],
  },
  {
    name: "what the program knows after other words",
    words: ["namespaces", "opt-in", "shop", "--kubeconfig", "=", "c", "ask"],
    offered: ["asked:__complete+opt-in+shop+--kubeconfig=c"],
  },
  { name: "no flags that are hidden", words: ["--healthz-p"], offered: [] },
  { name: "nothing for a free value", words: ["--master", "h"], offered: [] },
];

Deno.test("the completion of bash offers what stands next", async (t) => {
  assert.ok(await have("bash"), "bash is missing on this machine");
  const directory = await Deno.makeTempDir();
  try {
    for (const file of ["one.yaml", "two.yaml"]) {
      await Deno.writeTextFile(`${directory}/${file}`, "");
    }
    for (const { name, words, offered } of offers) {
      await t.step(name, async () => {
        assert.deepEqual(await bashOffers(words, directory), offered);
      });
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("the completion of bash asks a program that was typed with a tilde", async () => {
  const home = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${home}/kube-proxy`, "#!/bin/sh\necho asked\n", { mode: 0o755 });
    const offered = await bashOffers(["namespaces", "opt-in", ""], home, {
      program: "~/kube-proxy",
      home,
    });
    assert.deepEqual(offered, ["asked"]);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("completion scripts know every command and every flag", async (t) => {
  for (const shell of ["bash", "fish", "zsh"]) {
    await t.step(shell, async () => {
      const script = await scriptFor(shell);
      for (const { words } of tree.entries) assert.ok(script.includes(words.join(" ")), `${words}`);
      for (const flag of ["proxy-mode", "write-config-to", "fail-on-loss", "logging-format"]) {
        assert.ok(script.includes(flag), flag);
      }
      assert.ok(!script.includes("healthz-port"));
    });
  }
});

Deno.test("completion scripts are read by their shells", async (t) => {
  for (const shell of ["bash", "fish", "zsh"]) {
    if (!await have(shell)) {
      await t.step({ name: `${shell}: not on this machine`, ignore: true, fn: () => {} });
      continue;
    }
    await t.step(shell, async () => {
      const child = new Deno.Command(shell, { args: ["-n"], stdin: "piped", stderr: "piped" })
        .spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(await scriptFor(shell)));
      await writer.close();
      const { success, stderr } = await child.output();
      assert.ok(success, new TextDecoder().decode(stderr));
    });
  }
});

Deno.test({
  name: "the completion of fish asks the program what it knows",
  ignore: !await have("fish"),
  async fn() {
    const lines = [
      "function kube-proxy; echo asked:(string join -- + $argv); end",
      "printenv KUBE_PROXY_SCRIPT | source",
      "complete -C 'kube-proxy namespaces opt-out shop --yes as'",
    ];
    const { stdout, stderr, success } = await new Deno.Command("fish", {
      args: ["--no-config", "-c", lines.join("\n")],
      env: { KUBE_PROXY_SCRIPT: await scriptFor("fish") },
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    assert.equal(new TextDecoder().decode(stdout), "asked:__complete+opt-out+shop+--yes\n");
  },
});

Deno.test("completion refuses a shell it does not know", async () => {
  const { exitCode, stderr } = await runProgram(["completion", "bsh"], { entries: tree.entries });
  assert.deepEqual([exitCode, stderr], [2, 'Error: Unknown shell "bsh"; did you mean "bash"?\n']);
});
