import assert from "node:assert/strict";
import { Klog, type KlogOptions } from "../../../lib/base/klog.ts";

const time = new Date(2026, 10, 18, 12, 7, 5, 123).getTime();

/** What a logger with these options says when it is used so. */
function said(options: Partial<KlogOptions>, use: (logger: Klog) => void): string {
  let text = "";
  const logger = new Klog({
    format: "text",
    verbosity: 0,
    pid: 1234,
    write: (line) => void (text += line),
    now: () => time,
    ...options,
  });
  use(logger);
  return text.replace(/klog_test\.ts:\d+/g, "klog_test.ts:9");
}

const head = "1118 12:07:05.123000    1234 klog_test.ts:9]";

const texts: readonly { name: string; use: (logger: Klog) => void; expected: string }[] = [
  { name: "info", use: (log) => log.info("Synced"), expected: `I${head} "Synced"\n` },
  { name: "warning", use: (log) => log.warning("Odd"), expected: `W${head} "Odd"\n` },
  {
    name: "values",
    use: (log) => log.info("Synced", { family: "IPv4", changes: 3, on: true, nothing: null }),
    expected: `I${head} "Synced" family="IPv4" changes=3 on=true nothing=null\n`,
  },
  {
    name: "lists, maps and big numbers",
    use: (log) => log.info("x", { list: ["a", "b"], map: new Map([["k", 1n]]) }),
    expected: `I${head} "x" list=["a","b"] map={"k":"1"}\n`,
  },
  {
    name: "sets, errors and what JSON has no word for",
    use: (log) =>
      log.info("x", {
        set: new Set([1, 2]),
        error: new Error("no"),
        inside: { error: new Error("no") },
        none: undefined,
      }),
    expected: `I${head} "x" set=[1,2] error="no" inside={"error":"no"} none=null\n`,
  },
  {
    name: "several lines",
    use: (log) => log.info("x", { rules: "one\ntwo\n", after: 1 }),
    expected: `I${head} "x" rules=<\n\tone\n\ttwo\n > after=1\n`,
  },
  {
    name: "quotation marks",
    use: (log) => log.info('say "x"', { of: '"y"' }),
    expected: `I${head} "say \\"x\\"" of="\\"y\\""\n`,
  },
  {
    name: "an error, in one line and without its stack",
    use: (log) => log.error("command failed", new Error("Cannot do:\n  it."), { op: 1 }),
    expected: `E${head} "command failed" err="Cannot do: it" op=1\n`,
  },
  {
    name: "verbose records below the level only",
    use: (log) => [1, 2].forEach((level) => log.verbose(level, "deep")),
    expected: "",
  },
];

Deno.test("Klog writes klog's lines", async (t) => {
  for (const { name, use, expected } of texts) {
    await t.step(name, () => assert.equal(said({}, use), expected));
  }
});

Deno.test("Klog heeds the verbosity", async (t) => {
  const deep = (log: Klog) => log.verbose(4, "deep");
  await t.step("of the program", () => {
    assert.equal(said({ verbosity: 4 }, deep), `I${head} "deep"\n`);
    assert.equal(said({ verbosity: 3 }, deep), "");
  });
  await t.step("of a file", () => {
    const vmodule = [{ filePattern: "klog_*", verbosity: 4 }];
    assert.equal(said({ vmodule }, deep), `I${head} "deep"\n`);
    assert.equal(said({ vmodule: [{ filePattern: "other", verbosity: 4 }] }, deep), "");
  });
  await t.step("of a file, with wildcards for one letter and for many", () => {
    const with4 = (filePattern: string) =>
      said({ vmodule: [{ filePattern, verbosity: 4 }] }, (log) => {
        assert.equal(log.verbosity, 0);
        if (log.enabled(4)) log.verbose(4, "deep");
        assert.equal(log.enabled(5), false);
      });
    for (const pattern of ["klog?test", "k*t", "*"]) assert.match(with4(pattern), /deep/, pattern);
    for (const pattern of ["klog", "k?t", "klog.test", "[a-z]*"]) {
      assert.equal(with4(pattern), "", pattern);
    }
  });
  await t.step("text that others search for", () => {
    const say = (log: Klog) => log.verboseText(3, 'FLAG: --a="b"');
    assert.equal(said({ verbosity: 3 }, say), `I${head} FLAG: --a="b"\n`);
    assert.equal(said({ verbosity: 2 }, say), "");
  });
  await t.step("JSON knows no files", () => {
    const vmodule = [{ filePattern: "*", verbosity: 9 }];
    assert.equal(said({ format: "json", vmodule }, deep), "");
  });
  await t.step("changed while it runs", () => {
    const louder = (log: Klog) => {
      log.setVerbosity(4);
      assert.equal(log.enabled(4), true);
      assert.equal(log.enabled(5), false);
      deep(log);
    };
    assert.equal(said({}, louder), `I${head} "deep"\n`);
  });
  await t.step("stacks from 6 on", () => {
    const fail = (log: Klog) => log.error("x", new Error("a", { cause: new Error("b") }));
    assert.doesNotMatch(said({ verbosity: 5 }, fail), /stack/);
    assert.match(said({ verbosity: 6 }, fail), /stack=<\n\tError: a\n[^]*\tcaused by: Error: b\n/);
  });
});

Deno.test("Klog writes JSON records with upstream's keys", async (t) => {
  const record = (use: (log: Klog) => void): unknown =>
    JSON.parse(said({ format: "json", verbosity: 2 }, use));
  const common = { ts: time, caller: "base/klog_test.ts:9" };
  await t.step("info", () => {
    const expected = { ...common, msg: "Synced", v: 0, family: "IPv4" };
    assert.deepEqual(record((log) => log.info("Synced", { family: "IPv4" })), expected);
  });
  await t.step("verbose", () => {
    assert.deepEqual(record((log) => log.verbose(2, "x")), { ...common, msg: "x", v: 2 });
  });
  await t.step("error", () => {
    const expected = { ...common, msg: "command failed", err: "no" };
    assert.deepEqual(record((log) => log.error("command failed", new Error("no"))), expected);
  });
  await t.step("in upstream's order", () => {
    const line = said({ format: "json" }, (log) => log.info("x", { a: 1 }));
    assert.deepEqual(Object.keys(JSON.parse(line)), ["ts", "caller", "msg", "v", "a"]);
  });
});

Deno.test("Klog keeps informational records and errors apart where asked to", () => {
  let info = "";
  const errors = said({ writeInfo: (line) => void (info += line) }, (log) => {
    log.info("fine");
    log.error("bad");
  });
  assert.match(info, /"fine"\n$/);
  assert.equal(errors, `E${head} "bad"\n`);
});
