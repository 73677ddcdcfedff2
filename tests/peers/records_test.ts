/** Upstream still answers as it was recorded: the records are no memory of a program that is gone. */
import assert from "node:assert/strict";
import { findProgram } from "../controlplane/rig/binaries.ts";
import { readRecord } from "./flag_record.ts";
import { recordConfig } from "./record_config.ts";
import { recordFlags } from "./record_flags.ts";
import { type Recorded, recordedPath } from "./recorded_config.ts";

const program = findProgram("kube-proxy");

/** Upstream names features in the order of its own map, another one each time. */
function comparable(record: { readonly date: string }): unknown {
  const text = JSON.stringify({ ...record, date: "" });
  return JSON.parse(
    text.replaceAll(
      /failed complete: \[(.+?\])\]/g,
      (_, list: string) => `failed complete: [${list.split(/(?<=\]), /).sort().join(", ")}]`,
    ),
  );
}

Deno.test({
  name: "upstream makes of command lines what was recorded",
  ignore: program === undefined,
  fn: async () => {
    assert.ok(program);
    assert.deepEqual(comparable(await recordFlags(program)), comparable(await readRecord()));
  },
});

Deno.test({
  name: "upstream makes of configurations what was recorded",
  ignore: program === undefined,
  fn: async () => {
    assert.ok(program);
    const recorded: Recorded = JSON.parse(await Deno.readTextFile(recordedPath));
    assert.deepEqual(comparable(await recordConfig(program)), comparable(recorded));
  },
});
