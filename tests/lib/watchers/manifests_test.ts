import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../../lib/base/clock.ts";
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

  async start(path = this.directory, clock: Clock = systemClock): Promise<ManifestsSource> {
    const source = await ManifestsSource.open({
      path,
      clock,
      onProblem: (problem) => this.problems.push(describeManifestProblem(problem)),
      onNotice: (message) => this.notices.push(message),
      debounceMs: 10,
      pollMs: 20,
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

withRig("ManifestsSource reads an empty file once more before it believes it", async (rig) => {
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  const seen = new Set<string>();
  let emptyReads = 0;
  const sleep: Clock["sleep"] = (milliseconds, signal) => {
    // The pause before the second look is four times the debounce.
    if (milliseconds === 40) {
      emptyReads++;
      rig.write("a.yaml", serviceText("web", "172.30.0.2"));
    }
    return systemClock.sleep(milliseconds, signal);
  };
  await rig.start(rig.directory, { ...systemClock, sleep });
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  rig.write("a.yaml", "");
  await rig.until(() => {
    seen.add(rig.services().join());
    return rig.services();
  }, ["web 172.30.0.2"]);
  assert.deepEqual([...seen].filter((services) => services === ""), []);
  assert.equal(emptyReads, 1);
});

withRig("ManifestsSource believes a file that stays empty", async (rig) => {
  rig.write("a.yaml", serviceText("web", "172.30.0.1"));
  await rig.start();
  await rig.until(() => rig.services(), ["web 172.30.0.1"]);
  rig.write("a.yaml", "");
  await rig.until(() => rig.services(), []);
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
    path: "/nonexistent/manifests.yaml",
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
    const source = await ManifestsSource.open({
      path: rig.directory,
      clock: {
        ...systemClock,
        // Each look at it is long after the last one.
        monotonic: () => passed += 1_000,
        sleep: () => Promise.resolve(end.abort()),
      },
      onProblem: () => assert.fail("nothing is wrong"),
      onNotice: () => {},
      signal: end.signal,
    });
    assert.deepEqual(source.counts.Service, 0);
  },
);
