/** `completion SHELL`: a script that completes commands, flags and their values, by asking the program. */
import { UsageError } from "../lib/base/errors.ts";
import { didYouMean } from "../lib/base/nearest_name.ts";
import type { Command } from "./command.ts";
import { bashScript } from "./completion/bash.ts";
import { fishScript } from "./completion/fish.ts";
import { zshScript } from "./completion/zsh.ts";

const scripts = new Map([["bash", bashScript], ["fish", fishScript], ["zsh", zshScript]]);

export const completionCommand: Command = {
  operands: [{ name: "SHELL", completion: { kind: "words", words: [...scripts.keys()] } }],
  flags: [],
  examples: [
    {
      what: "Complete in this bash",
      command: "completion bash > ~/.kube-proxy && . ~/.kube-proxy",
    },
    {
      what: "Complete in every fish",
      command: "completion fish > ~/.config/fish/completions/kube-proxy.fish",
    },
    { what: "Complete in every zsh", command: 'completion zsh > "${fpath[1]}/_kube-proxy"' },
  ],
  run(context) {
    const [shell] = context.arguments.operands;
    const script = scripts.get(shell);
    if (!script) {
      const hint = didYouMean(shell, scripts.keys()) || `; use ${[...scripts.keys()].join(", ")}`;
      throw new UsageError(`Unknown shell "${shell}"${hint}`);
    }
    context.stdout.write(script);
    return Promise.resolve(0);
  },
};
