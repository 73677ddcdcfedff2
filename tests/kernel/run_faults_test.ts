/** What happens to a running `kube-proxy run --manifests`, and what the kernel holds then. */
import assert from "node:assert/strict";
import { generateCluster } from "../bench/generate_cluster.ts";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";

const DEADLINE_MS = 10_000;
const TERM_DEADLINE_MS = 1_000;
/** From the last of many files to the last of their Services. */
const APPLIED_MS = 2_000;

function start(namespace: OwnNamespace, folder: string): ProxyProcess {
  return new ProxyProcess({
    program: ourProgram(),
    namespace: namespace.name,
    args: [
      "run",
      `--manifests=${folder}`,
      "--hostname-override=node",
      "--proxy-mode=nftables",
      "--nodeport-addresses=primary",
    ],
  });
}

/** A test with a namespace and a directory of its own. */
function faultTest(
  name: string,
  body: (namespace: OwnNamespace, folder: string) => Promise<void>,
): void {
  Deno.test(name, () =>
    withOwnNamespace(async (namespace) => {
      const folder = await Deno.makeTempDir({ prefix: "kpt-manifests-" });
      try {
        await body(namespace, folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    }));
}

function serviceWith(clusterIP: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: `web-${clusterIP.replaceAll(".", "-")}`, namespace: "shop" },
    spec: { clusterIP, ports: [{ port: 80 }] },
  });
}

async function until(
  condition: () => Promise<boolean>,
  told: () => string,
): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!await condition()) {
    assert.ok(performance.now() < deadline, told());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

faultTest(
  "a file that breaks while the program runs keeps its Services until it is right again",
  async (namespace, folder) => {
    const holds = async (text: string) =>
      (await namespace.run("nft", "list", "table", "ip", "kube-proxy")).includes(text);
    await Deno.writeTextFile(`${folder}/a.json`, serviceWith("172.30.0.1"));
    await Deno.writeTextFile(`${folder}/b.json`, serviceWith("172.30.0.2"));
    await using proxy = start(namespace, folder);
    await proxy.inSync();
    await Deno.writeTextFile(`${folder}/b.json`, '{\n  "kind": }');
    await proxy.said("b.json:2:11");
    await Deno.writeTextFile(`${folder}/a.json`, serviceWith("172.30.0.3"));
    await until(() => holds("172.30.0.3"), () => proxy.log());
    assert.ok(await holds("172.30.0.2"), "the broken file's Service is still there");
    assert.ok(!await holds("172.30.0.1"), "what left the good file is gone");
    await Deno.writeTextFile(`${folder}/b.json`, serviceWith("172.30.0.4"));
    await until(() => holds("172.30.0.4"), () => proxy.log());
    assert.ok(!await holds("172.30.0.2"));
    assert.equal(await proxy.end("SIGTERM"), 0);
  },
);

faultTest(
  "an empty file takes no Service away, and a link to nothing keeps no other file out",
  async (namespace, folder) => {
    const holds = async (text: string) =>
      (await namespace.run("nft", "list", "table", "ip", "kube-proxy")).includes(text);
    for (const last of [1, 2, 3]) {
      await Deno.writeTextFile(`${folder}/${last}.json`, serviceWith(`172.30.0.${last}`));
    }
    await using proxy = start(namespace, folder);
    await proxy.inSync();
    // As a program does that fails once the shell has opened its output.
    for (const last of [1, 2, 3]) await Deno.writeTextFile(`${folder}/${last}.json`, "");
    for (const last of [1, 2, 3]) await proxy.said(`${last}.json\\": it is empty`);
    await Deno.symlink("nowhere", `${folder}/0.json`);
    await Deno.writeTextFile(`${folder}/4.json`, serviceWith("172.30.0.4"));
    await until(() => holds("172.30.0.4"), () => proxy.log());
    await proxy.said('0.json\\": it is a link to \\"nowhere\\", which is not there');
    for (const last of [1, 2, 3]) assert.ok(await holds(`172.30.0.${last}`), `Service ${last}`);
    const none = '{"apiVersion": "v1", "kind": "List", "items": []}';
    await Deno.writeTextFile(`${folder}/1.json`, none);
    await until(async () => !await holds("172.30.0.1"), () => proxy.log());
    assert.ok(await holds("172.30.0.2"), "only an empty list says that there is nothing");
  },
);

faultTest(
  "a conflict is told when it comes, also where nothing changes after it",
  async (namespace, folder) => {
    await Deno.writeTextFile(`${folder}/a.json`, serviceWith("172.30.0.1"));
    await using proxy = start(namespace, folder);
    await proxy.inSync();
    const claim = (ip: string) =>
      serviceWith("172.30.0.2").replace('"clusterIP"', `"externalIPs":["${ip}"],"clusterIP"`);
    await Deno.writeTextFile(`${folder}/b.json`, claim("172.30.0.1"));
    await proxy.said(
      "Service shop/web-172-30-0-2: 172.30.0.1:80/TCP is not served for it, because it is the " +
        "cluster IP of the Service shop/web-172-30-0-1",
    );
  },
);

const rounds = Deno.env.has("KUBE_PROXY_TEST_FULL") ? 10 : 3;

faultTest(
  `500 files that change at once are in force, ${rounds} times`,
  async (namespace, folder) => {
    const all = Array.from({ length: 500 }, (_, i) => i);
    const ip = (i: number, round: number) => `172.30.${2 * round + (i >> 8)}.${i & 255}`;
    const write = (round: number) =>
      Promise.all(
        all.map((i) => Deno.writeTextFile(`${folder}/${i}.json`, serviceWith(ip(i, round)))),
      );
    const inForce = async (round: number) => {
      const listing = await namespace.run("nft", "list", "table", "ip", "kube-proxy");
      const held = new Set(listing.match(/172\.30\.\d+\.\d+(?= \. tcp \. 80)/g));
      return all.filter((i) => held.has(ip(i, round))).length;
    };
    await write(0);
    await using proxy = start(namespace, folder);
    await proxy.inSync();
    assert.equal(await inForce(0), 500);
    for (let round = 1; round <= rounds; round++) {
      await write(round);
      await new Promise((resolve) => setTimeout(resolve, APPLIED_MS));
      assert.equal(await inForce(round), 500, `in round ${round}\n${proxy.log()}`);
      assert.equal(await inForce(round - 1), 0, `in round ${round}\n${proxy.log()}`);
    }
  },
);

faultTest(
  "SIGTERM while 10,000 Services load ends within a second and leaves whole Services",
  async (namespace, folder) => {
    const services = 10_000;
    await generateCluster({ services, endpoints: 3, format: "json", folder });
    // While files are read, between reading and writing, and in the middle of writing.
    for (const rules of [0, 1, 2_000]) {
      // What an earlier round left would look like this round's rules.
      await namespace.run("nft", "flush", "ruleset");
      const proxy = start(namespace, folder);
      try {
        await until(
          async () =>
            proxy.count("deprecated") > 0 &&
            (rules === 0 || (await elements(namespace, "service-ips")).length >= rules),
          () => proxy.log(),
        );
        const startedAt = performance.now();
        assert.equal(await proxy.end("SIGTERM"), 0, proxy.log());
        const tookMs = performance.now() - startedAt;
        assert.ok(tookMs < TERM_DEADLINE_MS, `it took ${tookMs} ms with ${rules} rules`);
        await assertWhole(namespace);
      } finally {
        await proxy[Symbol.asyncDispose]();
      }
    }
  },
);

faultTest("two instances at once leave the table that one leaves", async (namespace, folder) => {
  await generateCluster({ services: 300, endpoints: 3, format: "json", folder });
  {
    await using alone = start(namespace, folder);
    await alone.inSync();
  }
  const right = (await tableLines(namespace)).join("\n");
  await namespace.run("nft", "delete", "table", "ip", "kube-proxy");
  await using first = start(namespace, folder);
  await using second = start(namespace, folder);
  await first.inSync();
  await second.inSync();
  await assertWhole(namespace);
  // Where both made the table, its rules are there twice until one looks for what others changed.
  await until(
    async () => (await tableLines(namespace)).join("\n") === right,
    () => first.log() + second.log(),
  );
});

/** Each address that is answered has all of its three endpoints. */
async function assertWhole(namespace: OwnNamespace): Promise<void> {
  const endpoints = new Set(await elements(namespace, "endpoints"));
  for (const frontend of await elements(namespace, "service-ips")) {
    for (const index of [0, 1, 2]) {
      assert.ok(endpoints.has(`${frontend} . ${index}`), `${frontend} lacks endpoint ${index}`);
    }
  }
}

/** The keys of all maps of a kind; none when there is no such map yet. */
async function elements(namespace: OwnNamespace, kind: string): Promise<string[]> {
  let listing;
  try {
    listing = await namespace.run("nft", "-j", "list", "table", "ip", "kube-proxy");
  } catch {
    return [];
  }
  type Element = readonly [{ readonly concat: readonly unknown[] }];
  const entries: readonly { map?: { name: string; elem?: readonly Element[] } }[] =
    JSON.parse(listing).nftables;
  return entries.flatMap(({ map }) => map?.name.replace(/-\d+$/, "") === kind ? map.elem ?? [] : [])
    .map(([key]) => key.concat.join(" . "));
}

/** Lines and elements in one order, whatever the kernel's. */
/** While the kernel makes room in a set, a listing repeats elements and lacks others: two alike are right. */
async function tableLines({ run }: OwnNamespace): Promise<readonly string[]> {
  let lines: readonly string[] = [];
  for (let before = ""; before === "" || before !== lines.join("\n");) {
    before = lines.join("\n");
    const listing = await run("nft", "list", "table", "ip", "kube-proxy");
    lines = listing.split(/,?\n\s*/).map((line) => line.trim()).sort();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return lines;
}
