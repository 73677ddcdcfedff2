import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";

/** A trace of the kernel is not longer than so many lines. */
const TRACE_LINES = 80;

/** Whether nf_tables held a processor for too long. */
export const lockups = check({
  id: "KRN07",
  group: "kernel",
  title: "lockups",
  why: "Some kernels hang for seconds while they commit large batches of rules.",
  looks: "Searches the kernel's log for a soft lockup with nf_tables in its trace.",
  links: ["https://github.com/kubernetes/kubernetes/issues/135639"],
  results: ["pass", "warn"],
  needs: ["kernelLog"],
  judge: ({ facts: { kernelLog = [] } }) => {
    const found = kernelLog.filter((line, at) =>
      /soft lockup/.test(line) &&
      kernelLog.slice(at, at + TRACE_LINES).some((each) =>
        /\b(__)?nft_\w+|\[nf_tables\]/.test(each)
      )
    );
    if (found.length === 0) return [fine("kernel log")];
    return [problem("warn", "kernel log", {
      evidence: few(found, 3),
      advice: ["Upgrade the kernel: newer ones commit large batches faster."],
    })];
  },
});
