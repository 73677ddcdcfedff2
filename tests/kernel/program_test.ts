import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import { clusterIP, type Host } from "../scenarios/addresses.ts";
import { bulkServices } from "../scenarios/bulk_services.ts";
import { clusterManifests, serviceManifests } from "../scenarios/manifests.ts";
import { setups } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";
import { describeWrong, runFates } from "./rig/fates.ts";
import { NftMonitor } from "./rig/nft_monitor.ts";
import {
  ManifestFolder,
  ProgramProcess,
  ProgramProgrammer,
  runArgv,
} from "./rig/programmers/program.ts";
import { createShopCluster, deleteProxyTables } from "./rig/shop_cluster.ts";
import { differentLines, ruleLines } from "./rig/rule_lines.ts";
import type { Cluster } from "./rig/cluster.ts";

const REPAIR_DEADLINE_MS = 5000;
const [setup] = setups;

Deno.test("run --manifests meets the table of fates", async () => {
  await using cluster = await createShopCluster();
  await using _proxy = await new ProgramProgrammer().start(cluster, {
    manifests: clusterManifests(shopServices),
    setup,
  });
  for (const family of ipFamilies) {
    const options = { services: shopServices, rows: shopFates, setup, family };
    assert.equal(describeWrong(await runFates(cluster, options)), "");
  }
});

Deno.test("what nft loads, from its own listing or from --dry-run, is what the program wrote", async (test) => {
  await using cluster = await createShopCluster();
  await using folder = await ManifestFolder.create(clusterManifests(shopServices));
  // No address of the node is in these rules, so that they are the same in another namespace.
  const everywhere = setups.find(({ nodePortAddresses }) => nodePortAddresses === "all");
  assert.ok(everywhere);
  await cluster.run("node", [...runArgv(folder, everywhere), "--once"]);
  const written = await tables(cluster);
  const listing = await cluster.run("node", ["nft", "list", "ruleset"]);

  await test.step("the listing loads to the same listing", async () => {
    await cluster.run("beyond", ["nft", "-f", "-"], listing);
    assert.equal(await cluster.run("beyond", ["nft", "list", "ruleset"]), listing);
    await cluster.run("beyond", ["nft", "flush", "ruleset"]);
  });

  await test.step("--dry-run prints it, and touches nothing", async () => {
    const rendering = await cluster.run("beyond", [
      ...runArgv(folder, everywhere),
      "--once",
      "--dry-run",
    ]);
    assert.equal(await cluster.run("beyond", ["nft", "list", "ruleset"]), "");
    await cluster.run("beyond", ["nft", "-f", "-"], rendering);
    assert.equal(await differenceTo(cluster, written, "beyond"), "");
  });
});

/** What somebody else may do to our tables. */
const damages: readonly { readonly name: string; readonly script: string }[] = [
  {
    name: "an element is deleted",
    script: "delete element ip kube-proxy service-ips { 172.30.0.10 . tcp . 80 }",
  },
  {
    name: "an element of an endpoint map is another one",
    script: `delete element ip kube-proxy endpoints { 172.30.0.10 . tcp . 80 . 1 }
      add element ip kube-proxy endpoints { 172.30.0.10 . tcp . 80 . 1 : 10.128.0.77 . 1 }`,
  },
  {
    name: "an element is added",
    script: "add element ip kube-proxy cluster-ips { 172.30.77.77 }",
  },
  { name: "a chain is flushed", script: "flush chain ip kube-proxy services" },
  {
    name: "a base chain is deleted",
    script: "delete chain ip6 kube-proxy nat-prerouting",
  },
  { name: "a rule is inserted", script: "insert rule ip kube-proxy services accept" },
  { name: "a chain is added", script: "add chain ip kube-proxy somebody-elses" },
  { name: "a table is deleted", script: "delete table ip kube-proxy" },
  {
    name: "both tables are deleted",
    script: "delete table ip kube-proxy\ndelete table ip6 kube-proxy",
  },
];

Deno.test("foreign edits of our tables are repaired within 5 s, and foreign tables are left alone", async (test) => {
  await using cluster = await createShopCluster();
  const foreign = foreignTable();
  await nft(cluster, foreign);
  const foreignBefore = await cluster.run("node", ["nft", "list", "table", "inet", "foreign"]);
  await using folder = await ManifestFolder.create(clusterManifests(shopServices));
  await using proxy = await ProgramProcess.start(cluster, { folder, setup });
  const right = await tables(cluster);
  const repair = async (script: string) => {
    await nft(cluster, script);
    const deadline = Date.now() + REPAIR_DEADLINE_MS;
    let last = "";
    do {
      assert.ok(Date.now() < deadline, `still different after 5 s:\n${last}\n${proxy.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      last = await differenceTo(cluster, right);
    } while (last !== "");
  };
  for (const { name, script } of damages) await test.step(name, () => repair(script));
  for (const { name, script } of damages.slice(0, 2)) {
    await test.step(`${name} while others change their tables all the time`, async () => {
      const noise = makeNoise(cluster);
      // The proxy has noticed that it is noise when it was left alone for some looks.
      await new Promise((resolve) => setTimeout(resolve, 2000));
      await repair(script);
      await noise();
    });
  }
  assert.equal(
    await cluster.run("node", ["nft", "list", "table", "inet", "foreign"]),
    foreignBefore,
  );
});

Deno.test("a restart writes what changed meanwhile and nothing else", async (test) => {
  await using cluster = await createShopCluster();
  const bulk = bulkServices(300, { endpoints: 3 });
  await using folder = await ManifestFolder.create(clusterManifests([...shopServices, ...bulk]));
  {
    await using _first = await ProgramProcess.start(cluster, { folder, setup });
  }

  await test.step("nothing changed: the kernel's generation does not move", async () => {
    await using monitor = await NftMonitor.start(cluster);
    {
      await using _proxy = await ProgramProcess.start(cluster, { folder, setup });
    }
    assert.deepEqual(await monitor.stop(), []);
  });

  await test.step("100 Services changed: only their addresses are written", async () => {
    const changed = bulkServices(100, { endpoints: 2 });
    await folder.remove(bulk.slice(0, 100).flatMap(serviceManifests));
    await folder.write(changed.flatMap(serviceManifests));
    await using monitor = await NftMonitor.start(cluster);
    {
      await using _proxy = await ProgramProcess.start(cluster, { folder, setup });
    }
    const lines = (await monitor.stop()).filter((line) => line.includes("element"));
    const addresses = changed.flatMap(({ number }) => Object.values(clusterIP(number)));
    const foreign = lines.filter((line) =>
      !line.includes("hairpin-connections") &&
      !addresses.some((address) => line.includes(`${address} `))
    );
    assert.deepEqual(foreign, []);
    for (const address of addresses) {
      assert.ok(lines.some((line) => line.includes(`${address} `)), `${address} was written`);
    }
  });

  await deleteProxyTables(cluster);
});

function tables(cluster: Cluster, host: Host = "node") {
  return Promise.all(
    ipFamilies.map((family) => ruleLines(cluster, { mode: setup.mode, family, host })),
  );
}

/** A table that is not there is a difference too. */
async function differenceTo(
  cluster: Cluster,
  right: Awaited<ReturnType<typeof tables>>,
  host: Host = "node",
): Promise<string> {
  try {
    const now = await tables(cluster, host);
    return right.flatMap((lines, i) => differentLines(lines, now[i])).join("\n");
  } catch (error) {
    return String(error);
  }
}

/** Changes of another table, one after the other until the answer is called. */
function makeNoise(cluster: Cluster): () => Promise<void> {
  let running = true;
  const work = (async () => {
    while (running) {
      await nft(
        cluster,
        "add set inet foreign noise { type mark; }\ndelete set inet foreign noise",
      );
    }
  })();
  return () => {
    running = false;
    return work;
  };
}

function foreignTable(): string {
  const chain = (name: string, type: string, priority: number) =>
    `chain ${name} {\ntype ${type} hook prerouting priority ${priority}; policy accept;\ncounter\n}`;
  return `table inet foreign {
    ${chain("nat-prerouting", "nat", -101).replace("counter", "")}
    ${chain("filter-prerouting-pre-dnat", "filter", -110).replace("counter", "")}
    set cluster-ips { type ipv4_addr; elements = { 172.30.0.10 }; }
  }`;
}

async function nft(cluster: Cluster, script: string): Promise<void> {
  await cluster.run("node", ["nft", "-f", "-"], `${script}\n`);
}
