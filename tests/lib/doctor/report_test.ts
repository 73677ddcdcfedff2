import assert from "node:assert/strict";
import { explain } from "../../../lib/doctor/report/explain.ts";
import { outcomeJson } from "../../../lib/doctor/report/json.ts";
import type { Outcome } from "../../../lib/doctor/report/outcome.ts";
import { outcomeText, type Paint } from "../../../lib/doctor/report/text.ts";
import { wrap } from "../../../lib/doctor/report/wrap.ts";
import type { CheckResult } from "../../../lib/doctor/run_checks.ts";
import { verdictOf } from "../../../lib/doctor/verdict.ts";
import { assertGolden } from "../writers/golden.ts";
import { checkOf } from "./facts_in_memory.ts";

const plain = { subject: "", evidence: [], advice: [], unfixable: false };
const long = "KUBE-MARK-MASQ ".repeat(12).trim();

const results: readonly CheckResult[] = [
  { ...plain, check: checkOf({ id: "KRN01", title: "kernel-version" }), result: "pass" },
  {
    ...plain,
    check: checkOf({ id: "KRN03", title: "nft-expressions", why: `So much hangs on it: ${long}.` }),
    result: "fail",
    subject: "a scratch table",
    evidence: ["numgen is missing", `${long}`],
    advice: [
      `modprobe nft_numgen ${"nft_of_a_rather_long_name ".repeat(5).trim()}`,
      `Ask whoever built this kernel for the modules that are named above, ${long}.`,
    ],
    unfixable: true,
  },
  {
    ...plain,
    check: checkOf({ id: "NET05", title: "rights" }),
    result: "unknown",
    evidence: ["/proc/1/ns/net: permission denied"],
    advice: ["hostPID: true"],
  },
  {
    ...plain,
    check: checkOf({ id: "IPV02", title: "live-connections", group: "ipvs" }),
    result: "warn",
    subject: "/proc/net/ip_vs_conn",
    evidence: ["3 established, the oldest for 2 h"],
  },
  {
    ...plain,
    check: checkOf({ id: "CFG07", title: "rbac", group: "cluster" }),
    result: "skip",
    evidence: ["Cannot list services: no answer in 10 s"],
  },
  {
    ...plain,
    check: checkOf({ id: "SCL02", title: "names", group: "cluster" }),
    result: "pass",
    subject: "4 names",
    evidence: ["x".repeat(150)],
  },
];

const outcome: Outcome = {
  node: "worker-1",
  kernel: "5.10.0-28-amd64",
  move: { from: "ipvs", fromGiven: false, to: "nftables", toProxy: "upstream" },
  fromWhere: "answers at http://127.0.0.1:10249/proxyMode",
  verdict: verdictOf(results, { rehearsal: true }),
  results,
  rehearsal: undefined,
  modules: { unloaded: ["nft_ct", "nf_tables"], kept: ["nf_conntrack"] },
};

const unpainted: Paint = (text) => text;

Deno.test("a report is text that people read, at most 100 columns wide", async () => {
  const text = outcomeText(outcome, unpainted);
  assert.deepEqual(text.split("\n").filter((line) => line.length > 100), []);
  assert.deepEqual(text.split("\n").filter((line) => line.endsWith(" ")), []);
  await assertGolden("doctor/report.txt", text);
});

Deno.test("where no mode was found the report says so, and names the program it judges for", () => {
  const { move } = outcome;
  const text = outcomeText({
    ...outcome,
    fromWhere: "",
    move: { ...move, from: undefined, toProxy: "this" },
    modules: { unloaded: [], kept: [] },
  }, unpainted);
  assert.match(text, /^Node worker-1, Linux 5\.10\.0-28-amd64: from a mode that nothing tells/);
  assert.match(text, /give --from\) to nftables of\nthis program\n/);
  assert.doesNotMatch(text, /Modules/);
  const given = outcomeText({ ...outcome, fromWhere: "" }, unpainted);
  assert.match(given, /: from ipvs to nftables of stock kube-proxy 1\.37\n/);
});

Deno.test("a painted report says the same", () => {
  const painted = outcomeText(outcome, (text, result) => `<${result}>${text}</>`);
  assert.match(painted, /\n<heading>Kernel<\/>\n {2}<pass>pass<\/> {4}KRN01/);
  assert.equal(painted.replaceAll(/<[^<>]*>/g, ""), outcomeText(outcome, unpainted));
});

Deno.test("a report is JSON for programs", async () => {
  const text = outcomeJson(outcome);
  const { checks, verdict, ...rest } = JSON.parse(text);
  assert.deepEqual(rest, {
    schemaVersion: 1,
    node: "worker-1",
    kernel: "5.10.0-28-amd64",
    from: "ipvs",
    to: "nftables",
    rehearsal: null,
  });
  assert.deepEqual(verdict, { canMove: false, changes: 0, because: ["KRN03"] });
  assert.deepEqual(Object.keys(checks[0]), [
    "id",
    "group",
    "title",
    "result",
    "subject",
    "evidence",
    "why",
    "advice",
  ]);
  await assertGolden("doctor/report.json", text);
  const { move } = outcome;
  const nowhere = JSON.parse(outcomeJson({ ...outcome, move: { ...move, from: undefined } }));
  assert.equal(nowhere.from, null);
});

Deno.test("a check explains itself", async () => {
  const check = checkOf({ id: "KRN03", results: ["pass", "fail"], looks: `In ${long}.` });
  await assertGolden("doctor/explain.txt", explain(check));
});

const wrapped: readonly (readonly [string, string, readonly string[]])[] = [
  ["what fits stays", "one two", ["  do: one two"]],
  ["a line may be full", "one two four", ["  do: one two four"]],
  ["words go to the next line", "one two three four", ["  do: one two \\", "      three four"]],
  ["a long word is cut", "abcdefghijklmnopqrstuvwxyz", [
    "  do: abcdefghijkl \\",
    "      mnopqrstuvwx \\",
    "      yz",
  ]],
];

for (const [name, text, lines] of wrapped) {
  Deno.test(`wrap(): ${name}`, () => {
    assert.deepEqual(wrap(text, { width: 20, indent: "  ", head: "do: ", more: " \\" }), lines);
  });
}
