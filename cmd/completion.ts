/** `completion SHELL`: a script that completes commands, flags and their values. */
import { UsageError } from "../lib/base/errors.ts";
import { didYouMean } from "../lib/base/nearest_name.ts";
import type { Command } from "./command.ts";
import { bashScript } from "./completion/bash.ts";
import { fishScript } from "./completion/fish.ts";
import { completedCommands } from "./completion/words.ts";
import { zshScript } from "./completion/zsh.ts";
import type { CommandTree } from "./dispatch.ts";

const scripts = new Map([["bash", bashScript], ["fish", fishScript], ["zsh", zshScript]]);

/** The command for a tree of commands, itself among them. */
export function completionCommand(tree: () => CommandTree): Command {
  return {
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
    async run(context) {
      const [shell] = context.arguments.operands;
      const script = scripts.get(shell);
      if (!script) {
        const hint = didYouMean(shell, scripts.keys()) || `; use ${[...scripts.keys()].join(", ")}`;
        throw new UsageError(`Unknown shell "${shell}"${hint}`);
      }
      context.stdout.write(script(await completedCommands(tree())));
      return 0;
    },
  };
}
