/** TAB, pressed in real shells at real terminals, with the program that users get. */
import assert from "node:assert/strict";
import { FakeApiserver } from "../fakes/apiserver.ts";
import { ourProgramArgv } from "../kernel/rig/our_program.ts";
import { type Shell, Terminal } from "./terminal.ts";

const shells: readonly Shell[] = [
  {
    name: "bash",
    command: "bash --norc --noprofile -i",
    terminal: "dumb",
    setup: ["PS1='READY$ '", ". <(kube-proxy completion bash)"],
    tabsToList: 2,
  },
  {
    name: "zsh",
    command: "zsh -f -i",
    terminal: "dumb",
    setup: [
      "PS1='READY$ '; PROMPT_EOL_MARK=''; unsetopt PROMPT_SP",
      "autoload -U compinit; compinit -D -u",
      "source <(kube-proxy completion zsh)",
    ],
    tabsToList: 1,
  },
  {
    name: "fish",
    command: "fish --no-config -i",
    terminal: "xterm",
    setup: [
      "function fish_prompt; echo 'READY$ '; end",
      "kube-proxy completion fish | source",
    ],
    tabsToList: 1,
  },
];

/** What is typed before TAB, and the words of the line after it. */
const completed: readonly { name: string; typed: string; line: readonly string[] }[] = [
  { name: "a command", typed: "comp", line: ["completion"] },
  { name: "a group's command", typed: "config conv", line: ["config", "convert"] },
  { name: "a shell", typed: "completion z", line: ["completion", "zsh"] },
  { name: "a flag", typed: "config convert --fail", line: ["config", "convert", "--fail-on-loss"] },
  { name: "a flag of run without it", typed: "--proxy-m", line: ["--proxy-mode="] },
  { name: "a value after a sign", typed: "--proxy-mode=nft", line: ["--proxy-mode=nftables"] },
  {
    name: "a value after a space",
    typed: "run --proxy-mode nft",
    line: ["run", "--proxy-mode", "nftables"],
  },
  {
    name: "a value of a letter",
    typed: "config validate -o js",
    line: ["config", "validate", "-o", "json"],
  },
  { name: "a file after a space", typed: "run --config tw", line: ["run", "--config", "two.yaml"] },
  { name: "a file after a sign", typed: "run --config=tw", line: ["run", "--config=two.yaml"] },
  {
    name: "a file as operand",
    typed: "config validate tw",
    line: ["config", "validate", "two.yaml"],
  },
  { name: "a namespace", typed: "namespaces opt-out sh", line: ["namespaces", "opt-out", "shop"] },
  { name: "nothing where a file is no value", typed: "--proxy-mode=tw", line: ["--proxy-mode=tw"] },
];

/** What is typed before TAB, and what the shell shows. */
const listed: readonly { name: string; typed: string; offers: readonly string[] }[] = [
  {
    name: "commands",
    typed: "",
    offers: ["run", "cleanup", "doctor", "config", "namespaces", "completion", "help"],
  },
  {
    name: "a group's commands",
    typed: "config ",
    offers: ["convert", "validate", "defaults", "schema"],
  },
  { name: "another group's commands", typed: "namespaces ", offers: ["opt-out", "opt-in", "list"] },
  { name: "shells", typed: "completion ", offers: ["bash", "zsh", "fish"] },
  { name: "values", typed: "run --iptables-backend ", offers: ["auto", "legacy", "nft"] },
  {
    name: "flags of run",
    typed: "run --write-config-",
    offers: ["config-to=", "config-version="],
  },
  { name: "namespaces", typed: "namespaces opt-in ", offers: ["mesh", "odd"] },
];

const label = "networking.k8s.io/kube-proxy";
const namespaces = [
  { metadata: { name: "shop", labels: {} } },
  { metadata: { name: "mesh", labels: { [label]: "disabled" } } },
  { metadata: { name: "odd", labels: { [label]: "off" } } },
];

/** A folder with files to complete, the program on the path, and a kubeconfig of a cluster. */
async function furnish(directory: string, server: FakeApiserver): Promise<Record<string, string>> {
  for (const file of ["one.yaml", "two.yaml"]) await Deno.writeTextFile(`${directory}/${file}`, "");
  const program = ourProgramArgv().map((word) => `'${word}'`).join(" ");
  await Deno.mkdir(`${directory}/bin`);
  await Deno.writeTextFile(`${directory}/bin/kube-proxy`, `#!/bin/sh\nexec ${program} "$@"\n`, {
    mode: 0o755,
  });
  server.override = ({ query }) => {
    const labelled = query.has("labelSelector");
    const items = namespaces.filter(({ metadata }) => !labelled || label in metadata.labels);
    return Response.json({ items });
  };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "here",
    clusters: [{
      name: "here",
      cluster: {
        server: server.url,
        "certificate-authority-data": btoa(server.authority.certificate),
      },
    }],
    users: [{ name: "me", user: { token: "secret" } }],
    contexts: [{ name: "here", context: { cluster: "here", user: "me" } }],
  };
  await Deno.writeTextFile(`${directory}/kubeconfig`, JSON.stringify(kubeconfig));
  return {
    PATH: `${directory}/bin:${Deno.env.get("PATH")}`,
    HOME: directory,
    KUBECONFIG: `${directory}/kubeconfig`,
  };
}

async function startShell(
  shell: Shell,
  env: Record<string, string>,
  cwd: string,
): Promise<Terminal> {
  const terminal = new Terminal(shell, env, cwd);
  // Without a size there is no room to show anything.
  for (const line of ["stty rows 50 cols 200", ...shell.setup]) await terminal.type(`${line}\n`);
  await clearLine(terminal);
  return terminal;
}

/** Empties the line, and waits until the shell has done all that was typed. */
async function clearLine(terminal: Terminal): Promise<void> {
  // The answer differs from the question, which the terminal shows too.
  await terminal.type("\x15echo DO''NE\n");
  await terminal.until("answer", (seen) => seen.includes("DONE"));
}

/** Presses TAB behind the words, and has the shell print the line that this made. */
async function lineAfterTab(terminal: Terminal, typed: string): Promise<string[]> {
  const toStart = "\x01", toEnd = "\x05";
  await terminal.type(`kube-proxy ${typed}\t${toStart}printf '<%s>' ${toEnd} DO''NE\n`);
  const seen = await terminal.until("line", (text) => text.includes("<DONE>"));
  const printed = seen.slice(seen.lastIndexOf("<kube-proxy>"));
  return [...printed.matchAll(/<([^>]*)>/g)].map(([, word]) => word).slice(1, -1);
}

for (const shell of shells) {
  Deno.test(`TAB in ${shell.name}`, async (t) => {
    const directory = await Deno.makeTempDir();
    await using server = await FakeApiserver.start();
    try {
      const env = await furnish(directory, server);
      await using terminal = await startShell(shell, env, directory);
      for (const { name, typed, line } of completed) {
        await t.step(`completes ${name}`, async () => {
          assert.deepEqual(await lineAfterTab(terminal, typed), line);
        });
      }
      for (const { name, typed, offers } of listed) {
        await t.step(`lists ${name}`, async () => {
          await clearLine(terminal);
          await terminal.type(`kube-proxy ${typed}${"\t".repeat(shell.tabsToList)}`);
          const all = (seen: string) => offers.every((offer) => seen.includes(offer));
          const seen = await terminal.until(`list of ${offers.join(", ")}`, all);
          assert.ok(!seen.includes("one.yaml"), seen);
        });
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}
