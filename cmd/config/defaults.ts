/** `config defaults`: a file with every field, its default and a sentence about it. */
import { oneOf } from "../../lib/base/flag_values.ts";
import { defineFlag } from "../../lib/base/flags.ts";
import { defaultsText } from "../../lib/config/defaults_text.ts";
import type { ConfigVersion } from "../../lib/config/documents.ts";
import { type ModeName, modeNames } from "../../lib/writers/registry.ts";
import type { Command } from "../command.ts";

const modeFlag = defineFlag<ModeName | "">({
  name: "mode",
  type: oneOf<ModeName | "">("mode", modeNames),
  summary: "show the section of this mode alone, and choose it",
  fallback: "",
});

const versionFlag = defineFlag<ConfigVersion>({
  name: "api-version",
  type: oneOf("version", ["v1alpha1", "v1alpha2"]),
  summary: "version of the file",
  fallback: "v1alpha2",
});

export const defaultsCommand: Command = {
  description: "What it prints is a valid configuration that changes nothing.",
  operands: [],
  flags: [versionFlag, modeFlag],
  examples: [
    { what: "Every field there is", command: "config defaults" },
    {
      what: "Start a configuration for nftables",
      command: "config defaults --mode nftables > kube-proxy.yaml",
    },
  ],
  run({ arguments: args, stdout }) {
    const mode = args.get(modeFlag);
    const version = args.get(versionFlag);
    stdout.write(defaultsText({ version, mode: mode === "" ? undefined : mode }));
    return Promise.resolve(0);
  },
};
