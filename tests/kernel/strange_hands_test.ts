/**
 * What others do to our table while the program runs and while it does not: packets reach their
 * endpoint again within seconds, and nothing that is merely untidy fails a sync.
 */
import assert from "node:assert/strict";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { Agent } from "./rig/agent_client.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";
import { ownTable } from "./rig/table_owner.ts";

const table = "ip kube-proxy";
const clusterIP = "172.30.0.1";
const nodeIP = "192.168.0.1";
const nodePort = 30080;
/** What the program promises. */
const REPAIR_MS = 5_000;

/** Where a client knocks. */
const doors = [
  { name: "the cluster IP", address: clusterIP, port: 80 },
  { name: "the node port", address: nodeIP, port: nodePort },
] as const;

interface StrangeHand {
  readonly name: string;
  /** In the words of `nft`, a command each. */
  readonly script: string;
  /** Whose packets the change loses. */
  readonly losesAt: readonly (typeof doors)[number]["name"][];
}

const strangeHands: readonly StrangeHand[] = [
  {
    name: "the table sent to sleep",
    script: `add table ${table} { flags dormant ; }`,
    losesAt: ["the cluster IP", "the node port"],
  },
  {
    name: "a rule with a chain of its own",
    script: `insert rule ${table} services meta l4proto tcp jump { drop ; }`,
    losesAt: ["the cluster IP", "the node port"],
  },
  {
    name: "a chain of somebody else's, with a rule that has a chain of its own",
    script: `add chain ${table} theirs ; add rule ${table} theirs tcp dport 80 jump { drop ; }`,
    losesAt: [],
  },
  {
    name: "an element for every node port",
    script: `delete element ${table} service-nodeports { tcp . ${nodePort} } ; ` +
      `add element ${table} service-nodeports { * : drop }`,
    losesAt: ["the node port"],
  },
];

Deno.test("strange hands in our table are put right within 5 s, also by a start", (test) =>
  withNode(async (node) => {
    for (const { losesAt, name, script } of strangeHands) {
      await test.step(`${name}, while the program runs`, async () => {
        await node.makeTable();
        await using proxy = await node.start();
        await node.strike(script, losesAt);
        await node.untilRight(proxy);
      });
      await test.step(`${name}, before the program starts`, async () => {
        await node.makeTable();
        await node.strike(script, losesAt);
        await using proxy = await node.start();
        await node.untilRight(proxy);
      });
    }
  }));

Deno.test("a table of another program is named, and taken soon after that program's end", () =>
  withNode(async (node) => {
    const owner = await ownTable(node.namespace.name, "kube-proxy");
    await using proxy = node.launch();
    await proxy.said("belongs to another program");
    assert.ok(proxy.log().includes(`netlink port ${owner.port}`), proxy.log());
    assert.ok(proxy.log().includes('retryingTime="1s"'), proxy.log());
    const endedAt = performance.now();
    await owner[Symbol.asyncDispose]();
    await proxy.inSync();
    assert.ok(performance.now() - endedAt < REPAIR_MS, proxy.log());
    await node.untilRight(proxy);
  }));

/** A node with one Service. */
class Node {
  readonly namespace: OwnNamespace;
  readonly #agent: Agent;
  readonly #folder: string;

  constructor(namespace: OwnNamespace, agent: Agent, folder: string) {
    this.namespace = namespace;
    this.#agent = agent;
    this.#folder = folder;
  }

  launch(): ProxyProcess {
    return new ProxyProcess({
      program: ourProgram(),
      namespace: this.namespace.name,
      args: [
        "run",
        `--manifests=${this.#folder}`,
        "--hostname-override=node",
        "--proxy-mode=nftables",
        `--nodeport-addresses=${nodeIP}/32`,
      ],
    });
  }

  async start(): Promise<ProxyProcess> {
    const proxy = this.launch();
    await proxy.inSync();
    return proxy;
  }

  /** As a program makes it where there is none, and leaves it. */
  async makeTable(): Promise<void> {
    await this.namespace.run("nft", "flush ruleset");
    await using proxy = await this.start();
    await this.untilRight(proxy);
  }

  /** Changes the table, and sees that packets are lost where it says so. */
  async strike(script: string, losesAt: StrangeHand["losesAt"]): Promise<void> {
    assert.deepEqual(await this.#lost(), [], "before");
    await this.namespace.run("nft", script);
    assert.deepEqual(await this.#lost(), losesAt, "after");
  }

  /** Every packet arrives, and the table is as a program left alone has it, in time and without a failure. */
  async untilRight(proxy: ProxyProcess): Promise<void> {
    const startedAt = performance.now();
    for (;;) {
      const lost = await this.#lost();
      const listing = await this.namespace.run("nft", "list", "table", ...table.split(" "));
      const isStrange = /dormant|theirs|\bjump \{|\* : drop/.test(listing);
      if (lost.length === 0 && !isStrange) break;
      const isLate = performance.now() - startedAt > REPAIR_MS;
      assert.ok(
        !isLate,
        `still lost at ${lost}, strange: ${isStrange}\n${proxy.log()}\n${listing}`,
      );
    }
    assert.equal(proxy.count("Sync failed"), proxy.count("belongs to another"), proxy.log());
  }

  async #lost(): Promise<readonly string[]> {
    const lost: string[] = [];
    for (const { address, name, port } of doors) {
      const target = { namespace: this.namespace.name, protocol: "TCP", address, port } as const;
      const { kind } = await this.#agent.probe({ ...target, timeoutMs: 200 });
      if (kind !== "reached") lost.push(name);
    }
    return lost;
  }
}

async function withNode(body: (node: Node) => Promise<void>): Promise<void> {
  await withOwnNamespace(async (namespace) => {
    const folder = await Deno.makeTempDir({ prefix: "kpt-manifests-" });
    try {
      await Deno.writeTextFile(`${folder}/all.json`, JSON.stringify(objects()));
      await namespace.run("ip", "address", "add", `${nodeIP}/32`, "dev", "lo");
      await namespace.run("ip", "route", "add", "172.30.0.0/16", "dev", "lo", "src", nodeIP);
      await namespace.run("ip", "route", "add", "local", "10.128.0.0/14", "dev", "lo");
      await using agent = Agent.start();
      const server = { namespace: namespace.name, name: "pod", protocol: "TCP" } as const;
      await agent.serve({ ...server, address: "0.0.0.0", port: 8080 });
      await body(new Node(namespace, agent, folder));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

function objects() {
  const metadata = { name: "web", namespace: "shop" };
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: {
      type: "NodePort",
      clusterIP,
      ports: [{ name: "http", port: 80, nodePort, protocol: "TCP" }],
    },
  };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    addressType: "IPv4",
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "web" } },
    endpoints: [{ addresses: ["10.128.0.1"] }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
  return { apiVersion: "v1", kind: "List", items: [service, slice] };
}
