/** What `run` and `doctor` say while they read manifests, and when they go on. */
import assert from "node:assert/strict";
import { systemClock } from "../../../lib/base/clock.ts";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import { Lifetime } from "../../../lib/node/lifetime.ts";
import { openManifests } from "../../../lib/node/open_manifests.ts";
import type { SourceChoice } from "../../../lib/node/source.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";
import { inFolder } from "../../fakes/folder.ts";

const service = (name: string) =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {clusterIP: 172.30.0.1, ports: [{port: 80}]}}`;

interface Opening {
  readonly once?: boolean;
  readonly dryRun?: boolean;
  /** The program was told to end meanwhile. */
  readonly isEnding?: boolean;
}

/** Opens the folder, with what was said at the terminal and in the log. */
function opening(
  folder: string,
  { dryRun = false, isEnding = false, once = false }: Opening,
) {
  const stop = new AbortController();
  if (isEnding) stop.abort();
  const lifetime = new Lifetime(stop.signal);
  const logger = new FakeLogger();
  const shown: string[] = [];
  const options: SourceChoice = {
    configuration: {
      clientConnection: {
        kubeconfig: "",
        acceptContentTypes: "",
        contentType: "",
        qps: 5,
        burst: 10,
      },
    },
    manifests: [folder],
    master: "",
    once,
    dryRun,
    namespaceOptOut: true,
    namespaceOptOutDelayMs: 0,
  };
  const open = openManifests({
    options,
    nodeName: "node-a",
    hostName: "node-a",
    clock: systemClock,
    logger,
    progress: {
      show: (text) => void shown.push(text),
      clear: () => void shown.push(""),
    },
    userAgent: "test",
    metrics: new MetricsRegistry(),
    lifetime,
    env: () => undefined,
  });
  const end = async () => {
    stop.abort();
    await lifetime.finished();
  };
  return { end, logger, open, shown };
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, "not in 5 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

Deno.test("openManifests() shows what it reads until it has read all, and then leaves the terminal alone", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/a.yaml`, service("web"));
    const { end, open, shown } = opening(folder, {});
    try {
      const { description, hasNode, source } = await open;
      assert.deepEqual([description, hasNode], [`manifests from ${folder}`, false]);
      assert.deepEqual(shown, [`Reading ${folder}/a.yaml ...`, ""]);
      let batches = 0;
      const stop = new AbortController();
      const following = (async () => {
        for await (const _ of source.services.watch(stop.signal)) batches++;
      })();
      await until(() => batches === 1);
      await Deno.writeTextFile(`${folder}/b.yaml`, service("api"));
      await until(() => batches > 1);
      stop.abort();
      await following;
      assert.deepEqual(shown.filter((text) => text !== "").length, 1);
    } finally {
      await end();
    }
  }));

const noFiles = "info There is no .yaml, .yml or .json file in the directory of manifests yet";

Deno.test("openManifests() says that a directory is empty, but not to whoever wants it to end", () =>
  inFolder(async (folder) => {
    for (const isEnding of [false, true]) {
      const { end, logger, open } = opening(folder, { isEnding });
      await open;
      await end();
      assert.deepEqual(logger.lines, isEnding ? [] : [`${noFiles} directory=${folder}`]);
    }
    await Deno.writeTextFile(`${folder}/a.yaml`, service("web"));
    const { end, logger, open } = opening(folder, {});
    await open;
    await end();
    assert.deepEqual(logger.lines, []);
  }));

const outcomes: readonly (Opening & {
  readonly files: readonly string[];
  readonly throws: RegExp | undefined;
})[] = [
  { files: ["good", "bad"], throws: undefined },
  { files: ["good", "bad"], once: true, throws: /1 of 2 files cannot be used/ },
  { files: ["good", "bad"], dryRun: true, throws: /1 of 2 files cannot be used/ },
  { files: ["bad", "bad"], throws: /2 of 2 files cannot be used/ },
  { files: ["bad"], throws: /1 of 1 file cannot be used, .*; correct what is wrong/ },
  { files: ["good"], once: true, throws: undefined },
];

for (const { files, throws, ...how } of outcomes) {
  const what = `${files.join(" and ")} ${JSON.stringify(how)}`;
  Deno.test(`openManifests() of ${what} ${throws ? "ends" : "goes on"}`, () =>
    inFolder(async (folder) => {
      for (const [index, kind] of files.entries()) {
        const text = kind === "good" ? service(`web-${index}`) : "kind: [";
        await Deno.writeTextFile(`${folder}/${index}.yaml`, text);
      }
      const { end, logger, open } = opening(folder, how);
      if (throws) await assert.rejects(open, throws);
      else await open;
      await end();
      const told = logger.lines.filter((line) => line === "error Cannot use a manifest");
      assert.equal(told.length, files.filter((kind) => kind === "bad").length);
    }));
}
