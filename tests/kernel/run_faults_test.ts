/** What happens to a running `kube-proxy run --manifests`, and what the kernel holds then. */
import assert from "node:assert/strict";
import { generateCluster } from "../bench/generate_cluster.ts";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";

const DEADLINE_MS = 10_000;
const TERM_DEADLINE_MS = 1_000;

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
    await using first = start(namespace, folder);
    await using second = start(namespace, folder);
    await first.inSync();
    await second.inSync();
    await assertWhole(namespace);
    await until(
      async () => (await elements(namespace, "service-ips")).length === 300,
      () => first.log() + second.log(),
    );
  }
  const left = await namespace.run("nft", "list", "table", "ip", "kube-proxy");
  await namespace.run("nft", "delete", "table", "ip", "kube-proxy");
  {
    await using alone = start(namespace, folder);
    await alone.inSync();
  }
  const right = await namespace.run("nft", "list", "table", "ip", "kube-proxy");
  assert.equal(sorted(left), sorted(right));
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

/** The keys of a map; none when there is no such map yet. */
async function elements(namespace: OwnNamespace, map: string): Promise<string[]> {
  let listing;
  try {
    listing = await namespace.run("nft", "-j", "list", "map", "ip", "kube-proxy", map);
  } catch {
    return [];
  }
  const { nftables } = JSON.parse(listing);
  const found = nftables.find((entry: { map?: unknown }) => entry.map).map.elem ?? [];
  return found.map(([key]: [{ concat: unknown[] }]) => key.concat.join(" . "));
}

/** Lines and elements in one order, whatever the kernel's. */
function sorted(listing: string): string {
  return listing.split(/,?\n\s*/).map((line) => line.trim()).sort().join("\n");
}
