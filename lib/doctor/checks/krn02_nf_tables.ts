import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";
import { moduleState } from "../judging/module_state.ts";

/** Whether the kernel has nf_tables at all. */
export const nfTables = check({
  id: "KRN02",
  group: "kernel",
  title: "nf_tables",
  why: "Nftables mode is rules of nf_tables: without it there is nowhere to write them.",
  looks:
    "Looks for the module in the kernel and below /lib/modules; where that does not tell, the " +
    "answer to KRN03 does.",
  links: ["https://wiki.nftables.org/wiki-nftables/index.php/Main_Page"],
  results: ["pass", "fail"],
  needs: ["modules"],
  wants: ["expressions"],
  judge: ({ facts: { modules }, tried: { expressions } }) => {
    if (!modules) return [];
    const state = moduleState(modules, "nf_tables");
    const subject = `kernel ${modules.release}`;
    const tried = expressions.kind === "value" && expressions.value.how === "tried"
      ? expressions.value
      : undefined;
    if (tried?.hasNfTables) return [fine(subject, "nf_tables answers")];
    if (tried && state !== "missing") {
      return [problem("fail", subject, {
        evidence: ["nf_tables does not answer, and could not be loaded"],
        advice: ["modprobe nf_tables"],
      })];
    }
    switch (state) {
      case "loaded":
      case "built-in":
      case "available":
        return [fine(subject, `nf_tables is ${state}`)];
      case "missing":
        return [problem("fail", subject, {
          evidence: ["nf_tables is neither loaded, nor compiled in, nor below /lib/modules"],
          advice: ["Use a kernel with CONFIG_NF_TABLES."],
          unfixable: true,
        })];
      case "unknown":
        return [untold(subject, "Nothing tells whether this kernel has nf_tables")];
    }
  },
});
