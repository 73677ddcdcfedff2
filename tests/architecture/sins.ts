/** Sins that a file shows by itself: one row, one rule that has been seen to fail. */
import type { SourceFile } from "./checker.ts";

/** A file with a sin in it, and words that the checker's sentence must hold. */
export interface Sin extends SourceFile {
  readonly name: string;
  readonly sorry: string;
}

/** Plain sins, one for each row of the rules. */
export const sins: readonly Sin[] = [
  {
    name: "base imports a room",
    path: "lib/base/a.ts",
    text: 'import "../kube/objects.ts";',
    sorry: "must not import lib/kube/objects.ts",
  },
  {
    name: "kube imports the kernel",
    path: "lib/kube/a.ts",
    text: 'import { x } from "../kernel/libc.ts";',
    sorry: "must not import lib/kernel/libc.ts",
  },
  {
    name: "the kernel imports kube",
    path: "lib/kernel/a.ts",
    text: 'import type { Service } from "../kube/objects.ts";',
    sorry: "must not import",
  },
  {
    name: "the snapshot imports kube",
    path: "lib/snapshot/a.ts",
    text: 'export { x } from "../kube/objects.ts";',
    sorry: "must not import",
  },
  {
    name: "watchers import trackers",
    path: "lib/watchers/a.ts",
    text: 'import { x } from "../trackers/a.ts";',
    sorry: "must not import",
  },
  {
    name: "trackers import watchers",
    path: "lib/trackers/a.ts",
    text: 'import {\n  x,\n} from "../watchers/watcher.ts";',
    sorry: "must not import",
  },
  {
    name: "a mode imports a mode",
    path: "lib/writers/iptables/a.ts",
    text: 'import { x } from "../ipvs/b.ts";',
    sorry: "must not import lib/writers/ipvs/b.ts",
  },
  {
    name: "a mode imports kube",
    path: "lib/writers/nftables/a.ts",
    text: 'import { x } from "../../kube/objects.ts";',
    sorry: "must not import",
  },
  {
    name: "a mode imports the registry",
    path: "lib/writers/nftables/a.ts",
    text: 'import { x } from "../registry.ts";',
    sorry: "must not import",
  },
  {
    name: "the registry loads a mode at once",
    path: "lib/writers/registry.ts",
    text: 'import { x } from "./nftables/mod.ts";',
    sorry: "must not import",
  },
  {
    name: "config imports a mode's folder",
    path: "lib/config/a.ts",
    text: 'import { x } from "../writers/ipvs/config.ts";',
    sorry: "must not import",
  },
  {
    name: "the record imports a mode's door",
    path: "lib/record/a.ts",
    text: 'import { x } from "../writers/leftovers.ts";',
    sorry: "must not import lib/writers/leftovers.ts",
  },
  {
    name: "a mode imports the record",
    path: "lib/writers/iptables/a.ts",
    text: 'import { x } from "../../record/record_file.ts";',
    sorry: "must not import lib/record/record_file.ts",
  },
  {
    name: "sync imports kube",
    path: "lib/sync/a.ts",
    text: 'const x = await import("../kube/client.ts");',
    sorry: "must not import",
  },
  {
    name: "sync imports a mode",
    path: "lib/sync/a.ts",
    text: 'import { x } from "../writers/nftables/mod.ts";',
    sorry: "must not import",
  },
  {
    name: "health imports the kernel",
    path: "lib/health/a.ts",
    text: 'import { x } from "../kernel/links.ts";',
    sorry: "must not import",
  },
  {
    name: "a command imports a mode",
    path: "cmd/run.ts",
    text: 'import { x } from "../lib/writers/nftables/mod.ts";',
    sorry: "must not import",
  },
  {
    name: "doctor imports a mode",
    path: "lib/doctor/a.ts",
    text: 'import { x } from "../writers/nftables/mod.ts";',
    sorry: "must not import",
  },
  {
    name: "doctor imports a command",
    path: "lib/doctor/facts/a.ts",
    text: 'import { x } from "../../../cmd/command.ts";',
    sorry: "must not import",
  },
  {
    name: "a check imports the kernel",
    path: "lib/doctor/checks/a.ts",
    text: 'import type { Sysctl } from "../../kernel/sysctl.ts";',
    sorry: "must not import lib/kernel/sysctl.ts",
  },
  {
    name: "a check imports a fact's reader",
    path: "lib/doctor/checks/a.ts",
    text: 'import { x } from "../facts/found_mode.ts";',
    sorry: "must not import lib/doctor/facts/found_mode.ts",
  },
  {
    name: "a check imports a check",
    path: "lib/doctor/checks/a.ts",
    text: 'import { x } from "./b.ts";',
    sorry: "must not import its own lib/doctor/checks/b.ts",
  },
  {
    name: "a check that is long",
    path: "lib/doctor/checks/a.ts",
    text: "\n".repeat(150),
    sorry: "the limit is 150",
  },
  {
    name: "a thread of doctor beside the stage",
    path: "lib/doctor/rehearsal/a.ts",
    text: "new Worker(url);",
    sorry: "threads",
  },
  {
    name: "/proc in a fact's reader",
    path: "lib/doctor/facts/a.ts",
    text: 'const p = "/proc/modules";',
    sorry: "/proc and /sys",
  },
  {
    name: "main imports lib",
    path: "main.ts",
    text: 'import { x } from "./lib/kube/client.ts";',
    sorry: "must not import",
  },
  {
    name: "a worker is reached across rooms",
    path: "lib/sync/a.ts",
    text: 'new Worker(new URL("../kube/w.ts", import.meta.url));',
    sorry: "must not import",
  },
  {
    name: "code imports a test",
    path: "lib/base/a.ts",
    text: 'import "../../tests/x.ts";',
    sorry: "must not import tests/x.ts",
  },
  { name: "a file outside the rooms", path: "lib/other/a.ts", text: "", sorry: "no room" },
  {
    name: "an unknown package",
    path: "lib/base/a.ts",
    text: 'import x from "lodash";',
    sorry: "not in the list",
  },
  {
    name: "a package in the wrong room",
    path: "lib/sync/a.ts",
    text: 'import { parse } from "yaml";',
    sorry: "must not import the package yaml",
  },
  {
    name: "files by Node",
    path: "lib/base/a.ts",
    text: 'import { readFileSync } from "node:fs";',
    sorry: "effect without a home",
  },
  {
    name: "native code outside the kernel",
    path: "lib/sync/a.ts",
    text: 'Deno.dlopen("x", {});',
    sorry: "native code",
  },
  {
    name: "a process outside the kernel",
    path: "cmd/a.ts",
    text: 'new Deno.Command("nft");',
    sorry: "processes",
  },
  {
    name: "/proc outside the kernel",
    path: "lib/health/a.ts",
    text: 'const p = "/proc/self/stat";',
    sorry: "/proc and /sys",
  },
  {
    name: "a connection outside the kernel",
    path: "lib/kube/a.ts",
    text: "Deno.connect({ port: 1 });",
    sorry: "outgoing connections",
  },
  {
    name: "a request outside kube",
    path: "lib/health/a.ts",
    text: "await fetch(url);",
    sorry: "HTTP requests",
  },
  {
    name: "listening outside health",
    path: "cmd/a.ts",
    text: "Deno.serve(handler);",
    sorry: "listening",
  },
  {
    name: "a file outside files.ts",
    path: "lib/config/a.ts",
    text: 'Deno.readTextFileSync("x");',
    sorry: "ordinary files",
  },
  { name: "exit outside cmd", path: "lib/base/a.ts", text: "Deno.exit(1);", sorry: "exit" },
  {
    name: "the environment outside cmd",
    path: "lib/kube/a.ts",
    text: 'Deno.env.get("HOME");',
    sorry: "environment",
  },
  {
    name: "standard streams outside cmd",
    path: "lib/base/klog.ts",
    text: "Deno.stderr.writeSync(x);",
    sorry: "standard streams",
  },
  {
    name: "a mode's name in sync",
    path: "lib/sync/a.ts",
    text: "// as nftables does",
    sorry: "names the mode nftables",
  },
  {
    name: "a mode's name in health",
    path: "lib/health/a.ts",
    text: 'const name = "sync_proxy_rules_iptables_total";',
    sorry: "names the mode iptables",
  },
  {
    name: "a mode's name in the snapshot",
    path: "lib/snapshot/a.ts",
    text: "const ipvs = 1;",
    sorry: "names the mode ipvs",
  },
  { name: "a long file", path: "lib/base/a.ts", text: "\n".repeat(400), sorry: "the limit is 400" },
  {
    name: "a long test",
    path: "tests/a_test.ts",
    text: "\n".repeat(600),
    sorry: "the limit is 600",
  },
  { name: "a file name in camel case", path: "lib/base/aB.ts", text: "", sorry: "snake_case" },
  { name: "a name that says nothing", path: "lib/base/utils.ts", text: "", sorry: "says nothing" },
];

const lines = (count: number) => "x();\n".repeat(count);

/** Functions of all kinds, with one line more than allowed; all are in one file of base. */
export const longFunctions: readonly Omit<Sin, "path">[] = [
  { name: "a function", text: `function f() {\n${lines(59)}}`, sorry: "f has 61 lines" },
  {
    name: "a wrapped signature",
    text: `export async function f(\n  a: string,\n): Promise<void> {\n${lines(57)}}`,
    sorry: "f has 61 lines",
  },
  { name: "an arrow", text: `const f = () => {\n${lines(59)}};`, sorry: "f has 61 lines" },
  {
    name: "an arrow handed on",
    text: `each(() => {\n${lines(59)}});`,
    sorry: "without a name has 61 lines",
  },
  { name: "a method", text: `class A {\n#f() {\n${lines(59)}}\n}`, sorry: "#f has 61 lines" },
  { name: "a getter", text: `class A {\nget f() {\n${lines(59)}}\n}`, sorry: "f has 61 lines" },
  {
    name: "a field",
    text: `class A {\nf = () => {\n${lines(59)}};\n}`,
    sorry: "f has 61 lines",
  },
  {
    name: "an object's method",
    text: `const a = {\n"f"() {\n${lines(59)}},\n};`,
    sorry: "f has 61 lines",
  },
  {
    name: "a constructor",
    text: `class A {\nconstructor() {\n${lines(59)}}\n}`,
    sorry: "constructor has 61 lines",
  },
  {
    name: "a static block",
    text: `class A {\nstatic {\n${lines(59)}}\n}`,
    sorry: "without a name has 61 lines",
  },
];
