/** Every command there is, in the order of the overview. Each is loaded when it is asked for. */
import type { CommandTree } from "./dispatch.ts";

export const commandTree: CommandTree = {
  entries: [
    {
      words: ["completion"],
      summary: "print a completion script for bash, fish or zsh",
      load: async () => (await import("./completion.ts")).completionCommand(() => commandTree),
    },
  ],
  groups: [],
};
