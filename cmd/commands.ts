/** Every command there is, in the order of the overview. Each is loaded when it is asked for. */
import type { CommandTree } from "./command.ts";

export const commandTree: CommandTree = {
  entries: [
    {
      words: ["run"],
      summary: "program this node's Services and keep them programmed",
      load: async () => {
        const [{ runCommand }, { startProxy }] = await Promise.all([
          import("./run_command.ts"),
          import("./run/start_proxy.ts"),
        ]);
        return runCommand(startProxy);
      },
    },
    {
      words: ["cleanup"],
      summary: "remove what a proxy mode left on this node, and nothing else",
      load: async () => (await import("./cleanup.ts")).cleanupCommand,
    },
    {
      words: ["doctor"],
      summary: "say whether this node can move to nftables mode, and rehearse it",
      load: async () => (await import("./doctor.ts")).doctorCommand,
    },
    {
      words: ["config", "convert"],
      summary: "rewrite a configuration as the other version, and report every field",
      load: async () => (await import("./config/convert.ts")).convertCommand,
    },
    {
      words: ["config", "validate"],
      summary: "find everything that is wrong with a configuration",
      load: async () => (await import("./config/validate.ts")).validateCommand,
    },
    {
      words: ["config", "defaults"],
      summary: "print a configuration with every field, its default and its meaning",
      load: async () => (await import("./config/defaults.ts")).defaultsCommand,
    },
    {
      words: ["config", "schema"],
      summary: "print the JSON Schema of configurations, for editors",
      load: async () => (await import("./config/schema.ts")).schemaCommand,
    },
    {
      words: ["namespaces", "opt-out"],
      summary: "stop serving and watching the Services of namespaces",
      load: async () => (await import("./namespaces/opt_out.ts")).optOutCommand,
    },
    {
      words: ["namespaces", "opt-in"],
      summary: "serve the Services of namespaces again",
      load: async () => (await import("./namespaces/opt_in.ts")).optInCommand,
    },
    {
      words: ["namespaces", "list"],
      summary: "show which namespaces are opted out, since when, and what that saves",
      load: async () => (await import("./namespaces/list.ts")).listCommand,
    },
    {
      words: ["completion"],
      summary: "print a completion script for bash, fish or zsh",
      load: async () => (await import("./completion.ts")).completionCommand,
    },
  ],
  groups: [
    { word: "config", summary: "read, check and rewrite configurations" },
    { word: "namespaces", summary: "choose the namespaces that proxies leave alone" },
  ],
};
