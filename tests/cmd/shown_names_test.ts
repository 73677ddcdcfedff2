/**
 * What pages name beside commands of this program: addresses of its own pages, chains and sets, parts
 * of the test run, benches. All of them are there.
 */
import assert from "node:assert/strict";
import { withApiserver } from "./run/proxy_rig.ts";

const root = new URL("../../", import.meta.url).pathname;

async function textsBelow(folder: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const { name } of Deno.readDir(root + folder)) {
    texts.push(await Deno.readTextFile(`${root}${folder}/${name}`));
  }
  return texts;
}

const pages: Readonly<Record<string, string>> = Object.fromEntries(
  ["README.md", "docs/operating.md", "docs/cleanup.md", "docs/namespaces.md", "docs/metrics.md"]
    .map((path) => [path, Deno.readTextFileSync(root + path)]),
);
const everything = Object.values(pages).join("\n");

/** `:10249/{configz,flagz}` is two. */
function shownUrls(markdown: string): readonly string[] {
  const found = markdown.matchAll(/:(10249|10256)(\/(?:\w+|\{[\w,]+\}))/g);
  const all = [...found].flatMap(([, port, path]) =>
    path.replaceAll(/[/{}]/g, "").split(",").map((name) => `${port}/${name}`)
  );
  // What operating.md names beside another one.
  const beside = [...markdown.matchAll(/`\/((?:flagz|livez|healthz|configz|statusz|metrics))`/g)];
  const ports: Readonly<Record<string, string>> = { livez: "10256", healthz: "10256" };
  return [...new Set([...all, ...beside.map(([, name]) => `${ports[name] ?? "10249"}/${name}`)])];
}

Deno.test("every page of the proxy that README and docs name answers", async () => {
  const urls = shownUrls(everything);
  assert.ok(urls.length >= 7, urls.join());
  await withApiserver(async ({ run: start }) => {
    const run = start();
    await run.said("In sync");
    for (const url of urls) {
      const answer = await fetch(`http://${run.address}:${url}`);
      assert.ok((await answer.text()).length > 0, url);
      assert.equal(answer.status, 200, url);
    }
    assert.equal(await run.end(), 0);
  });
});

/** The code spans and numbered lists below a heading of docs/operating.md. */
function section(heading: string): string {
  const found = pages["docs/operating.md"].split(`\n### ${heading}\n`)[1]?.split(/\n##+ /)[0];
  assert.ok(found, `docs/operating.md has no "${heading}"`);
  return found;
}

/** Names of chains and sets in code spans; `…` and numbers stand for what differs. */
function names(markdown: string, pattern: RegExp): readonly string[] {
  const spans = [...markdown.matchAll(/`([^`]+)`/g)].map(([, span]) => span);
  return [...new Set(spans.flatMap((span) => [...span.matchAll(pattern)].map(([name]) => name)))];
}

const inKernel: readonly {
  readonly mode: string;
  readonly pattern: RegExp;
  /** What nobody calls so in the kernel. */
  readonly others: readonly string[];
  readonly least: number;
}[] = [
  {
    mode: "nftables",
    pattern: /\b(?:[a-z]+-)+[a-z]+\b|\bservices\b|\bendpoints\b/g,
    others: ["kube-proxy"],
    least: 12,
  },
  { mode: "iptables", pattern: /KUBE-[A-Z]+(?:-[A-Z]+)*-?/g, others: [], least: 5 },
  { mode: "ipvs", pattern: /KUBE-[A-Z]+(?:-[A-Z]+)*|kube-ipvs0/g, others: [], least: 6 },
];

for (const { least, mode, others, pattern } of inKernel) {
  Deno.test(`every chain and set of ${mode} mode that docs/operating.md names is one of its own`, async () => {
    const rules = (await textsBelow(`tests/golden/${mode}`)).join("\n");
    const shown = names(section(`${mode} mode`), pattern).filter((name) => !others.includes(name));
    assert.ok(shown.length >= least, shown.join());
    assert.deepEqual(shown.filter((name) => !rules.includes(name)), []);
  });
}

Deno.test("a chain that the rules do not have is found", () => {
  const { pattern } = inKernel[1];
  assert.deepEqual(names("see `iptables -S KUBE-GONE` and KUBE-TEXT", pattern), ["KUBE-GONE"]);
});

Deno.test("README lists every part of scripts/test, and no other", async () => {
  const script = await Deno.readTextFile(`${root}scripts/test`);
  const known = new Set([...script.matchAll(/^run_(\w+)\(\)/gm)].map(([, name]) => name));
  const table = pages["README.md"].split("\n## Test it\n")[1].split("\n## ")[0];
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  const listed = rows.flatMap((row) => [...row.split(" | ")[0].matchAll(/`(\w+)`/g)])
    .map(([, name]) => name);
  assert.deepEqual(listed.filter((name) => name !== "full" && !known.has(name)), []);
  // What upstream's program is compared by runs with all the rest alone.
  const unlisted = [...known].filter((name) => name !== "peers" && !listed.includes(name));
  assert.deepEqual(unlisted, []);
});

Deno.test("every script and bench that pages name is there", async () => {
  const shown = [...everything.matchAll(/`?scripts\/(\w+)(?: ([a-z_]+))?/g)];
  assert.ok(shown.length > 5);
  for (const [, script, word] of shown) {
    await Deno.stat(`${root}scripts/${script}`);
    if (script === "bench" && word) await Deno.stat(`${root}tests/bench/${word}_bench.ts`);
  }
});
