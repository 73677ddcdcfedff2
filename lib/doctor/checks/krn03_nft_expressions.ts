import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";
import { moduleState } from "../judging/module_state.ts";

/** Whether the kernel knows every expression that the rules are made of. */
export const nftExpressions = check({
  id: "KRN03",
  group: "kernel",
  title: "nft-expressions",
  why: "A kernel that lacks one of these refuses the whole ruleset.",
  looks: "Writes one rule for each expression in a batch that cannot succeed: the kernel answers " +
    "each, and keeps none. With --no-probe it reads which modules there are.",
  links: ["https://github.com/siderolabs/pkgs/issues/951"],
  results: ["pass", "fail"],
  needs: ["expressions"],
  wants: ["modules"],
  judge: ({ facts: { expressions }, tried: { modules } }) => {
    if (!expressions) return [];
    const { how, missing, untold: unseen } = expressions;
    if (!expressions.hasNfTables) {
      return [problem("fail", "nf_tables", {
        evidence: ["The kernel has no nf_tables, and so none of its expressions"],
        advice: ["modprobe nf_tables"],
        unfixable: modules.kind === "value" &&
          moduleState(modules.value, "nf_tables") === "missing",
      })];
    }
    if (missing.length > 0) {
      const names = [...new Set(missing.flatMap(({ modules }) => modules))];
      const isGone = (name: string) =>
        modules.kind === "value" && moduleState(modules.value, name) === "missing";
      return [problem("fail", missing.map(({ what }) => what).join(", "), {
        evidence: missing.map(({ reason, what }) => `${what}: ${reason}`),
        advice: [`modprobe -a ${names.join(" ")}`],
        unfixable: names.some(isGone),
      })];
    }
    if (unseen.length > 0) {
      return [untold("modules", `Nothing tells whether there is ${unseen.join(", ")}`)];
    }
    const evidence = how === "tried"
      ? "The kernel takes every expression"
      : "Every module is there";
    return [fine("nf_tables", evidence)];
  },
});
