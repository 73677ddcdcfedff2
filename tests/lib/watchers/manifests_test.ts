import assert from "node:assert/strict";
import { systemClock } from "../../../lib/base/clock.ts";
import type { ServicePort } from "../../../lib/snapshot/snapshot.ts";
import { ClusterState } from "../../../lib/trackers/cluster_state.ts";
import { ManifestsSource } from "../../../lib/watchers/manifests.ts";
import { describeManifestProblem } from "../../../lib/watchers/manifests_load.ts";

function serviceText(name: string, clusterIP: string): string {
  return `apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop}
spec:
  clusterIP: ${clusterIP}
  ports:
    - port: 80
---
`;
}

const optedOut = `apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {networking.k8s.io/kube-proxy: disabled}
`;

/** A directory that is followed, and a cluster state fed from it. */
class Rig {
  readonly problems: string[] = [];
  readonly notices: string[] = [];
  readonly reads: string[] = [];
  readonly directory: string;
  readonly #state = new ClusterState({
    families: ["IPv4"],
    nodeName: "node-a",
    nodeIPOverride: [],
    masqueradeAll: false,
    localTraffic: { kind: "none" },
    nodePortAddresses: [],
    startedMs: 0,
  });
  readonly #abort = new AbortController();
  #work: Promise<unknown> = Promise.resolve();

  constructor() {
    this.directory = Deno.makeTempDirSync({ prefix: "manifests-test-" });
  }

  path(name: string): string {
    return `${this.directory}/${name}`;
  }

  write(name: string, text: string): void {
    Deno.writeTextFileSync(this.path(name), text);
  }

  /** As editors do: never a half-written file, and another inode. */
  rename(name: string, text: string): void {
    Deno.writeTextFileSync(this.path(".new"), text);
    Deno.renameSync(this.path(".new"), this.path(name));
  }

  async start(
    path: string | readonly string[] = this.directory,
    { pollMs = 20 } = {},
  ): Promise<ManifestsSource> {
    const source = await ManifestsSource.open({
      paths: [path].flat(),
      clock: systemClock,
      onProblem: (problem) => this.problems.push(describeManifestProblem(problem)),
      onNotice: (message) => this.notices.push(message),
      onReading: (path) => this.reads.push(path),
      debounceMs: 10,
      pollMs,
    });
    const { signal } = this.#abort;
    const feed = async () => {
      for await (const batch of source.services.watch(signal)) this.#state.applyServices(batch);
    };
    this.#work = Promise.all([feed(), source.follow(signal)]);
    return source;
  }

  /** `name address` of each Service. */
  services(): readonly string[] {
    const ports: readonly ServicePort[] = [
      ...this.#state.families.get("IPv4")?.take().snapshot.services.values() ?? [],
    ];
    return ports.map(({ name, clusterIP }) => `${name} ${clusterIP}`).sort();
  }

  /** Waits until the answer is right; says what it was when time is up. */
  async until(ask: () => unknown, expected: unknown): Promise<void> {
    const deadline = performance.now() + 5000;
    while (JSON.stringify(ask()) !== JSON.stringify(expected)) {
      if (performance.now() > deadline) assert.deepEqual(ask(), expected);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#work;
    Deno.removeSync(this.directory, { recursive: true });
  }
}

function withRig(name: string, test: (rig: Rig) => Promise<void>): void {
  // A watch that was just closed and a debounce that runs out belong to nobody any more.
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false }, async () => {
    const rig = new Rig();
    try {
      await test(rig);
    } finally {
      await rig.close();
    }
  });
}

withRig("ManifestsSource follows files that come, change, are renamed over and go", async (rig) => {
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  rig.write("ignored.txt", serviceText("text", "172.30.0.9"));
  await rig.start();
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  rig.write("b.yml", serviceText("api", "172.30.0.2"));
  await rig.until(() => rig.services(), ["api 172.30.0.2", "web 172.30.0.1"]);
  for (const last of [3, 4, 5]) {
    rig.rename("b.yml", serviceText("api", `172.30.0.${last}`));
    await rig.until(() => rig.services(), [`api 172.30.0.${last}`, "web 172.30.0.1"]);
  }
  rig.write("b.yml", serviceText("api", "172.30.0.6"));
  await rig.until(() => rig.services(), ["api 172.30.0.6", "web 172.30.0.1"]);
  Deno.removeSync(rig.path("a.yaml"));
  await rig.until(() => rig.services(), ["api 172.30.0.6"]);
  assert.deepEqual(rig.problems, []);
});

withRig("ManifestsSource follows a single file through renames", async (rig) => {
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  await rig.start(rig.path("a.yaml"));
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  for (const last of [2, 3]) {
    rig.rename("a.yaml", serviceText("web", `172.30.0.${last}`));
    await rig.until(() => rig.services(), [`web 172.30.0.${last}`]);
  }
});

withRig("ManifestsSource follows the files of a ConfigMap volume", async (rig) => {
  const publish = (version: string, text: string) => {
    Deno.mkdirSync(rig.path(`..${version}`));
    rig.write(`..${version}/a.yaml`, text);
    Deno.symlinkSync(`..${version}`, rig.path("..data_tmp"));
    Deno.renameSync(rig.path("..data_tmp"), rig.path("..data"));
  };
  publish("v1", serviceText("web", "172.30.0.1"));
  Deno.symlinkSync("..data/a.yaml", rig.path("a.yaml"));
  await rig.start();
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  publish("v2", serviceText("web", "172.30.0.2"));
  await rig.until(() => rig.services(), ["web 172.30.0.2"]);
});

withRig("ManifestsSource keeps what a file held while it is broken", async (rig) => {
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  await rig.start();
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  rig.rename("a.yaml", serviceText("web", "172.30.0.300"));
  await rig.until(() => rig.problems.length > 0, true);
  assert.equal(
    rig.problems[0],
    `Cannot use manifest "${
      rig.path("a.yaml")
    }:5:14": Service shop/web: spec.clusterIP must be an IP address, not "172.30.0.300"`,
  );
  assert.deepEqual(rig.services(), ["web 172.30.0.1"]);
  rig.rename("a.yaml", serviceText("web", "172.30.0.2"));
  await rig.until(() => rig.services(), ["web 172.30.0.2"]);
});

withRig("ManifestsSource has what 500 files hold that change at once", async (rig) => {
  const ip = (i: number, version: number) => `172.30.${2 * version + (i >> 8)}.${i & 255}`;
  const all = Array.from({ length: 500 }, (_, i) => i);
  const write = (version: number) => {
    for (const i of all) {
      const change = i % 2 === 0 ? rig.write.bind(rig) : rig.rename.bind(rig);
      change(`s${i}.yaml`, serviceText(`s${i}`, ip(i, version)));
    }
  };
  const expected = (version: number) => all.map((i) => `s${i} ${ip(i, version)}`).sort();
  write(1);
  await rig.start(rig.directory, { pollMs: 3_600_000 });
  await rig.until(() => rig.services(), expected(1));
  for (const version of [2, 3]) {
    write(version);
    await rig.until(() => rig.services(), expected(version));
  }
});

withRig("ManifestsSource takes an empty file for one that is being written", async (rig) => {
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  await rig.start();
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  for (const empty of ["", " \n\t\n"]) {
    rig.problems.length = 0;
    rig.write("a.yaml", empty);
    await rig.until(() => rig.problems.length > 0, true);
    // On a busy machine one writing is found twice: once emptied, once at its end.
    assert.deepEqual([...new Set(rig.problems)], [
      `Cannot use manifest "${
        rig.path("a.yaml")
      }": it is empty; to have nothing from it, remove it or write "{apiVersion: v1, kind: List, items: []}"`,
    ]);
    assert.deepEqual(rig.services(), ["web 172.30.0.1"]);
  }
  rig.write("a.yaml", "{apiVersion: v1, kind: List, items: []}");
  await rig.until(() => rig.services(), []);
  rig.write("a.yaml", serviceText("web", "172.30.0.2"));
  await rig.until(() => rig.services(), ["web 172.30.0.2"]);
  rig.write("a.yaml", "");
  Deno.removeSync(rig.path("a.yaml"));
  await rig.until(() => rig.services(), []);
});

withRig("ManifestsSource says nothing of a file that was empty for a moment", async (rig) => {
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  await rig.start(rig.directory, { pollMs: 400 });
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  const seen = new Set<string>();
  rig.write("a.yaml", "");
  const ask = () => {
    seen.add(rig.services().join());
    return rig.reads.filter((path) => path === rig.path("a.yaml")).length;
  };
  await rig.until(() => ask() >= 2, true);
  rig.write("a.yaml", serviceText("web", "172.30.0.2"));
  await rig.until(() => {
    ask();
    return rig.services();
  }, ["web 172.30.0.2"]);
  assert.deepEqual([...seen].filter((services) => services === ""), []);
  assert.deepEqual(rig.problems, []);
});

withRig("ManifestsSource says at the start which file is empty", async (rig) => {
  rig.write("a.yaml", "\n");
  rig.write("b.yaml", serviceText("web", "172.30.0.1"));
  const source = await rig.start();
  assert.deepEqual([rig.problems.length, source.files], [1, { all: 2, broken: 1 }]);
  assert.match(rig.problems[0], /a\.yaml": it is empty; /);
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
});

withRig("ManifestsSource names a link to nothing and has all other files", async (rig) => {
  Deno.symlinkSync("elsewhere.yaml", rig.path("a.yaml"));
  rig.write("b.yaml", serviceText("web", "172.30.0.1"));
  await rig.start();
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  rig.write("c.yaml", serviceText("api", "172.30.0.2"));
  await rig.until(() => rig.services(), ["api 172.30.0.2", "web 172.30.0.1"]);
  const sentence = `Cannot use manifest "${
    rig.path("a.yaml")
  }": it is a link to "elsewhere.yaml", which is not there`;
  assert.deepEqual([...new Set(rig.problems)], [sentence]);
  Deno.symlinkSync("nothing", rig.path("d.yaml"));
  await rig.until(() => rig.problems.length, 2);
  assert.equal(
    rig.problems[1],
    `Cannot use manifest "${rig.path("d.yaml")}": it is a link to "nothing", which is not there`,
  );
  rig.write("elsewhere.yaml", serviceText("db", "172.30.0.3"));
  Deno.removeSync(rig.path("b.yaml"));
  await rig.until(() => rig.services(), ["api 172.30.0.2", "db 172.30.0.3"]);
});

withRig("ManifestsSource follows a directory that another took the place of", async (rig) => {
  const at = (name: string) => rig.path(name);
  for (const [name, last] of [["one", 1], ["two", 2]] as const) {
    Deno.mkdirSync(at(name));
    rig.write(`${name}/a.yaml`, serviceText("web", `172.30.0.${last}`));
  }
  Deno.symlinkSync("one", at("current"));
  await rig.start(at("current"));
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  Deno.symlinkSync("two", at("next"));
  Deno.renameSync(at("next"), at("current"));
  await rig.until(() => rig.services(), ["web 172.30.0.2"]);
  rig.write("two/a.yaml", serviceText("web", "172.30.0.3"));
  await rig.until(() => rig.services(), ["web 172.30.0.3"]);
});

withRig("ManifestsSource keeps everything while its directory is away", async (rig) => {
  const [here, away] = [rig.path("here"), rig.path("away")];
  Deno.mkdirSync(here);
  rig.write("here/a.yaml", serviceText("web", "172.30.0.1"));
  await rig.start(here);
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  Deno.renameSync(here, away);
  await rig.until(() => rig.problems.length > 0, true);
  assert.match(rig.problems[0], /Cannot use manifest ".*\/here": .*no such file or directory/);
  assert.deepEqual(rig.services(), ["web 172.30.0.1"]);
  Deno.renameSync(away, here);
  rig.write("here/a.yaml", serviceText("web", "172.30.0.2"));
  await rig.until(() => rig.services(), ["web 172.30.0.2"]);
});

withRig("ManifestsSource takes several paths", async (rig) => {
  for (const name of ["one", "two"]) Deno.mkdirSync(rig.path(name));
  rig.write("one/a.yaml", serviceText("web", "172.30.0.1"));
  rig.write("two/b.yaml", serviceText("api", "172.30.0.2"));
  rig.write("c.yaml", serviceText("db", "172.30.0.3"));
  const paths = ["one", "c.yaml", "two", "c.yaml"].map((name) => rig.path(name));
  const source = await rig.start(paths);
  assert.deepEqual(source.files, { all: 3, broken: 0 });
  await rig.until(() => rig.services(), ["api 172.30.0.2", "db 172.30.0.3", "web 172.30.0.1"]);
  rig.write("two/b.yaml", serviceText("api", "172.30.0.4"));
  rig.write("c.yaml", serviceText("db", "172.30.0.5"));
  Deno.removeSync(rig.path("one/a.yaml"));
  await rig.until(() => rig.services(), ["api 172.30.0.4", "db 172.30.0.5"]);
});

withRig(
  "ManifestsSource says once which file counts, and which kinds are of no use",
  async (rig) => {
    rig.write("a.yaml", serviceText("web", "172.30.0.1"));
    rig.write("b.yaml", `${serviceText("web", "172.30.0.2")}apiVersion: v1\nkind: Pod\n`);
    await rig.start();
    await rig.until(() => rig.services(), ["web 172.30.0.2"]);
    rig.rename("b.yaml", `${serviceText("web", "172.30.0.3")}apiVersion: v1\nkind: Pod\n`);
    await rig.until(() => rig.services(), ["web 172.30.0.3"]);
    assert.deepEqual(rig.notices, [
      `Ignored 1 object of kind "Pod" in "${rig.path("b.yaml")}": no proxy reads that kind`,
      `Service shop/web is in "${rig.path("a.yaml")}" and in "${
        rig.path("b.yaml")
      }": the latter counts`,
    ]);
  },
);

withRig("ManifestsSource says once which Services are left out, and why", async (rig) => {
  const chart = serviceText("web", "172.30.0.1").replace("  clusterIP: 172.30.0.1\n", "");
  rig.write("a.yaml", chart + serviceText("api", "172.30.0.2"));
  await rig.start();
  await rig.until(() => rig.services(), ["api 172.30.0.2"]);
  const without = "1 without spec.clusterIP, which an apiserver would give and a file has to hold";
  assert.deepEqual(rig.notices, [`Left out 1 Service: ${without} (shop/web)`]);
  rig.write("a.yaml", chart + serviceText("api", "172.30.0.3"));
  await rig.until(() => rig.services(), ["api 172.30.0.3"]);
  rig.write("namespace.yaml", optedOut);
  await rig.until(() => rig.services(), []);
  assert.deepEqual(rig.notices.slice(1), [
    "Left out 2 Services: 2 in a namespace that is opted out (shop/api, shop/web)",
  ]);
  Deno.removeSync(rig.path("namespace.yaml"));
  await rig.until(() => rig.services(), ["api 172.30.0.3"]);
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  rig.write("b.yaml", chart.replace("web", "db"));
  await rig.until(() => rig.notices.length, 3);
  assert.equal(rig.notices[2], `Left out 1 Service: ${without} (shop/db)`);
});

withRig(
  "ManifestsSource leaves out what an opted-out namespace holds, until it comes back",
  async (rig) => {
    rig.write("a.yaml", serviceText("web", "172.30.0.1"));
    rig.write("namespace.yaml", optedOut);
    const source = await rig.start();
    assert.equal(source.counts.Service, 0);
    Deno.removeSync(rig.path("namespace.yaml"));
    await rig.until(() => rig.services(), ["web 172.30.0.1"]);
    rig.write("namespace.yaml", optedOut);
    await rig.until(() => rig.services(), []);
    rig.write("namespace.yaml", optedOut.replace("disabled", "enabled"));
    await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  },
);

Deno.test("ManifestsSource refuses a path that is not there", async () => {
  const open = ManifestsSource.open({
    paths: ["/nonexistent/manifests.yaml"],
    clock: systemClock,
    onProblem: () => {},
    onNotice: () => {},
  });
  await assert.rejects(open, /Cannot read "\/nonexistent\/manifests.yaml": no such file/);
});

withRig(
  "ManifestsSource lets others work while it reads, and ends when they say so",
  async (rig) => {
    const services = Array.from({ length: 2000 }, (_, i) => serviceText(`web-${i}`, "172.30.0.1"));
    rig.write("a.yaml", services.join(""));
    const end = new AbortController();
    let passed = 0;
    let isReading = false;
    const source = await ManifestsSource.open({
      paths: [rig.directory],
      clock: {
        ...systemClock,
        // Each look at it is long after the last one.
        monotonic: () => passed += 1_000,
        // Before a file is read others have their turn too.
        sleep: () => {
          if (isReading) end.abort();
          return Promise.resolve();
        },
      },
      onProblem: () => assert.fail("nothing is wrong"),
      onNotice: () => {},
      onReading: () => isReading = true,
      signal: end.signal,
    });
    assert.deepEqual(source.counts.Service, 0);
  },
);
