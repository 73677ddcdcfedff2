/** `config schema`: the JSON Schema of both versions, for editors. */
import { configSchema } from "../../lib/config/json_schema.ts";
import type { Command } from "../command.ts";

export const schemaCommand: Command = {
  description: "Draft 7. It knows fields, types, bounds and defaults; rules about several fields " +
    "are checked by config validate alone.",
  operands: [],
  flags: [],
  examples: [
    { what: "Keep it for an editor", command: "config schema > kube-proxy.schema.json" },
  ],
  run({ stdout }) {
    stdout.write(`${JSON.stringify(configSchema(), null, 2)}\n`);
    return Promise.resolve(0);
  },
};
