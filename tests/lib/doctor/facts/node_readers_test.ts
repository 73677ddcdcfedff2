/** How the node's facts are read: over folders that look like a node, and a kernel in memory. */
import assert from "node:assert/strict";
import type { Fact, FactReader } from "../../../../lib/doctor/fact.ts";
import { expressionsReader } from "../../../../lib/doctor/facts/expressions.ts";
import { firewallReader } from "../../../../lib/doctor/facts/firewall.ts";
import { cniReader, hostFilesReader } from "../../../../lib/doctor/facts/host_files.ts";
import { kernelVersionReader } from "../../../../lib/doctor/facts/kernel_version.ts";
import { processesReader } from "../../../../lib/doctor/facts/processes.ts";
import {
  invalidDropsReader,
  proxyMetricsReader,
} from "../../../../lib/doctor/facts/proxy_metrics.ts";
import { ofNodeNetwork } from "../../../../lib/doctor/facts/rights.ts";
import { settingFilesReader } from "../../../../lib/doctor/facts/settings.ts";
import { iptablesToolReader, nftToolReader } from "../../../../lib/doctor/facts/tools.ts";
import { CommandError } from "../../../../lib/kernel/commands.ts";
import type { Commands } from "../../../../lib/kernel/commands.ts";
import { KernelFiles } from "../../../../lib/kernel/kernel_files.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { NfTablesError } from "../../../../lib/kernel/nf_tables/errors.ts";
import type { NftOperation, NftTable } from "../../../../lib/kernel/nftables/operations.ts";
import { nftText } from "../../../../lib/kernel/nftables/text.ts";
import { withHost } from "../../kernel/inspection/host_folder.ts";
import { assertGolden } from "../../writers/golden.ts";
import { modules } from "../cases/node_facts.ts";
import { FactsInMemory, type GivenFacts, known } from "../facts_in_memory.ts";

async function read<T>(reader: FactReader<T>, facts: GivenFacts = {}): Promise<Fact<T>> {
  const { signal } = new AbortController();
  return await reader.read({ signal, facts: new FactsInMemory(facts) });
}

function valueOf<T>(fact: Fact<T>): T {
  assert.ok(fact.kind === "value", JSON.stringify(fact));
  return fact.value;
}

Deno.test("kernelVersionReader() takes the version apart", async () => {
  const of = (release: string) => read(kernelVersionReader({ kernelRelease: () => release }));
  assert.deepEqual(valueOf(await of("5.10.0-30-amd64")), {
    release: "5.10.0-30-amd64",
    major: 5,
    minor: 10,
  });
  assert.equal((await of("garbage")).kind, "unknown");
});

/** A kernel that lacks the operations of some kinds. */
function kernelThatLacks(...kinds: readonly string[]) {
  return {
    commit: (table: NftTable, operations: readonly NftOperation[]) => {
      const failures = operations.flatMap((operation, at) => {
        const isLast = at === operations.length - 1;
        const words = JSON.stringify(operation);
        const isMissing = table.family === "ip6" && kinds.some((kind) => words.includes(kind));
        const message = isLast ? "never there" : "no such object";
        return isLast || isMissing ? [{ operation: at, errno: Errno.ENOENT, message }] : [];
      });
      return Promise.reject(new NfTablesError(failures, () => "do it"));
    },
  };
}

Deno.test("expressionsReader() names all that a kernel lacks at once", async () => {
  const probe = async (...kinds: readonly string[]) =>
    valueOf(
      await read(expressionsReader({
        nftables: () => Promise.resolve(kernelThatLacks(...kinds)),
        mayProbe: true,
      })),
    );
  assert.deepEqual(await probe(), { how: "tried", hasNfTables: true, missing: [], untold: [] });
  const { missing } = await probe("match-local", "random-verdict", '"type":"nat"', "clients");
  assert.deepEqual(missing.map(({ modules, what }) => `${what}: ${modules}`), [
    "chain type nat (IPv6): nft_chain_nat",
    "set that a packet updates (IPv6): nf_tables",
    "fib (IPv6): nft_fib,nft_fib_ipv6",
    "numgen (IPv6): nft_numgen",
  ]);
});

Deno.test("expressionsReader() asks for what was reviewed, in each family, in one batch that is refused", async () => {
  const asked: string[] = [];
  const kernel = kernelThatLacks();
  await read(expressionsReader({
    nftables: () =>
      Promise.resolve({
        commit: (...args: Parameters<typeof kernel.commit>) => {
          asked.push(nftText(args[0], args[1]));
          return kernel.commit(...args);
        },
      }),
    mayProbe: true,
  }));
  await assertGolden("doctor/asked_expressions.nft", asked.join("\n"));
});

Deno.test("expressionsReader() tells a kernel without nf_tables from one that forbids", async () => {
  const refusing = (errno: number) =>
    read(expressionsReader({
      nftables: () => Promise.reject(new NetlinkError({ op: "ask", errno })),
      mayProbe: true,
    }));
  assert.equal(valueOf(await refusing(Errno.EPROTONOSUPPORT)).hasNfTables, false);
  assert.equal((await refusing(Errno.EPERM)).kind, "unknown");
  await assert.rejects(refusing(Errno.ENOMEM));
  await assert.rejects(
    read(expressionsReader({
      nftables: () => Promise.resolve({ commit: () => Promise.resolve(undefined) }),
      mayProbe: true,
    })),
    { message: /took what it should have refused/ },
  );
});

Deno.test("expressionsReader() looks at modules where it may not ask", async () => {
  const looked = async (given: Parameters<typeof modules>[0]) =>
    valueOf(
      await read(
        expressionsReader({ nftables: () => Promise.reject(new Error("asked")), mayProbe: false }),
        { modules: modules(given) },
      ),
    );
  const lacking = await looked({ builtIn: ["nf_tables", "nft_ct"], available: ["nft_nat"] });
  assert.equal(lacking.how, "read");
  assert.ok(lacking.missing.some(({ what }) => what === "numgen (IPv4)"));
  assert.ok(!lacking.missing.some(({ what }) => /^(ct|nat) /.test(what)));
  assert.equal(lacking.hasNfTables, true);
  const bare = await looked({ builtIn: [], available: [] });
  assert.equal(bare.hasNfTables, false);
  const blind = await looked({ loaded: ["nf_tables"] });
  assert.ok(blind.untold.includes("nft_numgen"));
  assert.deepEqual(blind.missing, []);
});

const asked: readonly (readonly [string, Parameters<typeof modules>[0], boolean | undefined])[] = [
  ["loaded", { loaded: ["nf_tables"] }, true],
  ["compiled in", { builtIn: ["nf_tables"] }, true],
  ["not loaded", { builtIn: [], available: ["nf_tables"] }, false],
  ["not there", { builtIn: [], available: [] }, false],
  ["not to be seen", { loaded: ["x"] }, undefined],
];
for (const [name, given, asksNft] of asked) {
  Deno.test(`firewallReader() loads nothing: nf_tables is ${name}`, async () => {
    let question: boolean | undefined;
    const reader = firewallReader({
      hostRoot: "",
      read: (options) => {
        question = options.asksNft;
        const table = { engine: "nft", family: "ip", name: "nat" } as const;
        assert.equal(options.wantsRules(table, "PREROUTING"), true);
        assert.equal(options.wantsRules(table, "KUBE-SVC-AAAA"), false);
        assert.equal(options.wantsRules({ ...table, name: "kube-proxy" }, "services"), false);
        return Promise.resolve([]);
      },
    });
    const fact = await read(reader, { modules: modules(given) });
    assert.equal(question, asksNft);
    assert.equal(fact.kind, asksNft === undefined ? "unknown" : "value");
  });
}

Deno.test("ofNodeNetwork() reads a node's network from inside it alone", async () => {
  const reader = (hostRoot: string) => ({ read: ofNodeNetwork(hostRoot, () => known(1)) });
  const rights = (isInNodeNetwork: boolean | undefined) => ({
    rights: known({ hasNetAdmin: true, isInNodeNetwork }),
  });
  assert.equal((await read(reader(""))).kind, "value");
  assert.equal((await read(reader("/host"), rights(true))).kind, "value");
  for (const other of [false, undefined]) {
    assert.equal((await read(reader("/host"), rights(other))).kind, "unknown");
  }
});

Deno.test("settingFilesReader() reads files as sysctl.d(5) orders them", async () => {
  await withHost({
    "/etc/sysctl.d/10-a.conf": "# comment\nnet.ipv4.ip_forward = 0\n; no\n-net/ipv4/x.y/z=7\n",
    "/usr/lib/sysctl.d/10-a.conf": "net.ipv4.hidden = 1\n",
    "/usr/lib/sysctl.d/90-b.conf": "net.ipv4.ip_forward=1\nnet.ipv4.conf.*.rp_filter = 2\n",
    "/run/sysctl.d/notes.txt": "net.ipv4.text = 1\n",
    "/etc/sysctl.conf": "net.ipv4.last = a b \n",
  }, async (root) => {
    const found = valueOf(await read(settingFilesReader(new KernelFiles(root))));
    assert.deepEqual(Object.fromEntries(found), {
      "net/ipv4/ip_forward": { value: "1", file: "/usr/lib/sysctl.d/90-b.conf" },
      "net/ipv4/x.y/z": { value: "7", file: "/etc/sysctl.d/10-a.conf" },
      "net/ipv4/conf/all/rp_filter": { value: "2", file: "/usr/lib/sysctl.d/90-b.conf" },
      "net/ipv4/last": { value: "a b", file: "/etc/sysctl.conf" },
    });
  });
});

Deno.test("cniReader() reads networks, and names one that is none", async () => {
  await withHost({
    "/etc/cni/net.d/10.conflist": '{"plugins": [{"type": "bridge"}, 7]}',
    "/etc/cni/net.d/20.conf": '{"type": "ptp"}',
    "/etc/cni/net.d/README": "no network",
  }, async (root) => {
    assert.deepEqual(valueOf(await read(cniReader(new KernelFiles(root)))), [
      { path: "/etc/cni/net.d/10.conflist", plugins: [{ type: "bridge" }] },
      { path: "/etc/cni/net.d/20.conf", plugins: [{ type: "ptp" }] },
    ]);
  });
  await withHost({ "/etc/cni/net.d/10.conf": "garbage" }, async (root) => {
    const fact = await read(cniReader(new KernelFiles(root)));
    assert.deepEqual(fact, {
      kind: "unknown",
      because: "/etc/cni/net.d/10.conf is no network of a container runtime",
    });
  });
});

Deno.test("hostFilesReader() reads files and folders, a level deep", async () => {
  await withHost({
    "/etc/containerd/certs.d/localhost:30500/hosts.toml": "a",
    "/etc/keepalived/keepalived.conf": "b",
    "/etc/ufw/ufw.conf": "c",
    "/etc/passwd": "no",
  }, async (root) => {
    const found = valueOf(await read(hostFilesReader(new KernelFiles(root))));
    assert.deepEqual(found.map(({ path, text }) => `${path} ${text}`), [
      "/etc/containerd/certs.d/localhost:30500/hosts.toml a",
      "/etc/keepalived/keepalived.conf b",
      "/etc/ufw/ufw.conf c",
    ]);
  });
});

Deno.test("processesReader() finds proxies of the node's network, and who holds their ports", async () => {
  const line = (...words: readonly string[]) => words.map((word) => `${word}\0`).join("");
  const process = (pid: number, net: number, ...words: readonly string[]) => ({
    [`/proc/${pid}/cmdline`]: line(...words),
    [`/proc/${pid}/ns/net`]: `-> net:[${net}]`,
  });
  await withHost({
    ...process(1, 1, "/sbin/init"),
    ...process(2, 1, "/usr/local/bin/kube-proxy", "--config=x"),
    ...process(3, 1, "kube-proxy", "doctor"),
    ...process(4, 2, "kube-proxy", "--config=x"),
    ...process(5, 1, "hyperkube", "proxy"),
    ...process(6, 1, "kube-proxy", "--version"),
    ...process(7, 1, "nginx"),
    "/proc/7/fd/9": "-> socket:[55]",
  }, async (root) => {
    const files = new KernelFiles(root);
    const reader = processesReader({ files, hostRoot: root, pagePorts: [10249] });
    const socket = {
      protocol: "tcp" as const,
      address: "0.0.0.0",
      port: 10249,
      peer: "0.0.0.0",
      peerPort: 0,
      isListening: true,
      inode: "55",
    };
    const sockets = known([socket, { ...socket, port: 80, inode: "56" }, {
      ...socket,
      isListening: false,
    }]);
    const found = valueOf(await read(reader, { sockets }));
    assert.deepEqual(found.proxies.map(({ pid }) => pid), [2, 5]);
    assert.deepEqual(found.here.map(({ pid }) => pid), [1, 2, 3, 5, 6, 7]);
    assert.deepEqual(found.pageHolders.map(({ port, process }) => [port, process?.pid]), [
      [10249, 7],
    ]);
  });
});

/** Programs that say this, or die. */
function programs(answers: Readonly<Record<string, string | Error>>): Commands {
  return {
    lookPath: (name) => name.includes("/") || name === "nft" ? `/usr/sbin/${name}` : undefined,
    run: (argv) => {
      const found = answers[argv.slice(1).join(" ")] ?? "";
      if (found instanceof Error) return Promise.reject(found);
      const exitCode = found.startsWith("!") ? 1 : 0;
      return Promise.resolve({ exitCode, stdout: found.replace(/^!/, ""), stderr: "" });
    },
  };
}

const loaded = { modules: modules({ loaded: ["nf_tables"] }) };
const died = new CommandError(["nft"], { reason: "killed by SIGSEGV" });
const tools:
  readonly (readonly [string, Readonly<Record<string, string | Error>>, GivenFacts, unknown])[] = [
    [
      "all is well",
      { "--version": "nftables v1.0.6 (x)\n", "-V": "nftables v1.0.6\n  json:\t\tyes\n" },
      loaded,
      { version: "1.0.6", listing: { kind: "fine" }, json: "yes" },
    ],
    [
      "it dies",
      { "--version": "nftables v0.9.8", "-V": "  json: no\n", "list sets": died },
      loaded,
      { version: "0.9.8", listing: { kind: "crashed", signal: "SIGSEGV" }, json: "no" },
    ],
    [
      "it refuses",
      { "list tables": "!what\nis this\n" },
      loaded,
      { version: "", listing: { kind: "refused", words: "is this" }, json: "untold" },
    ],
    [
      "it may not",
      { "list tables": "!netlink: Error: cache initialization failed: Operation not permitted\n" },
      loaded,
      {
        version: "",
        listing: {
          kind: "forbidden",
          words: "netlink: Error: cache initialization failed: Operation not permitted",
        },
        json: "untold",
      },
    ],
    [
      "it is not asked where that would load a module",
      { "list tables": died },
      { modules: modules({ builtIn: [], available: ["nf_tables"] }) },
      { version: "", listing: { kind: "fine" }, json: "untold" },
    ],
  ];
for (const [name, answers, facts, wanted] of tools) {
  Deno.test(`nftToolReader(): ${name}`, async () => {
    const reader = nftToolReader({ commands: programs(answers), hostRoot: "" });
    const { path, ...rest } = valueOf(await read(reader, facts));
    assert.equal(path, "/usr/sbin/nft");
    assert.deepEqual(rest, wanted);
  });
}

Deno.test("tools of another root are looked for below it", async () => {
  const looked: string[] = [];
  const commands: Commands = {
    lookPath: (name) => {
      looked.push(name);
      return undefined;
    },
    run: () => Promise.reject(new Error("nobody should run")),
  };
  const fact = await read(iptablesToolReader({ commands, hostRoot: "/host" }));
  assert.equal(fact.kind, "absent");
  assert.ok(looked.includes("/host/usr/sbin/iptables"));
});

const page = `# HELP x y
kubeproxy_a_total 3
kubeproxy_b{family="IPv4"} 1
kubeproxy_b{family="IPv6"} 2e1
kubeproxy_cut 12`;

Deno.test("proxyMetricsReader() adds up the series of a name, and reads no half line", async () => {
  const found = valueOf(await read(proxyMetricsReader(() => Promise.resolve(page))));
  assert.deepEqual(Object.fromEntries(found), { kubeproxy_a_total: 3, kubeproxy_b: 21 });
  const none = await read(proxyMetricsReader(() => Promise.resolve(undefined)));
  assert.equal(none.kind, "absent");
  const garbage = await read(proxyMetricsReader(() => Promise.resolve("<html>\n")));
  assert.equal(garbage.kind, "unknown");
});

Deno.test("invalidDropsReader() looks twice where there are any", async () => {
  const name = "kubeproxy_iptables_ct_state_invalid_dropped_packets_total";
  let sleeps = 0;
  const drops = (now: number | undefined, later: string | undefined) =>
    read(
      invalidDropsReader({
        readPage: () => Promise.resolve(later),
        clock: {
          sleep: () => {
            sleeps++;
            return Promise.resolve();
          },
        },
      }),
      { proxyMetrics: known(new Map(now === undefined ? [] : [[name, now]])) },
    );
  assert.equal((await drops(undefined, undefined)).kind, "absent");
  assert.deepEqual(valueOf(await drops(0, `${name} 9\n`)), { count: 0, isRising: false });
  assert.equal(sleeps, 0);
  assert.deepEqual(valueOf(await drops(3, `${name} 4\n`)), { count: 3, isRising: true });
  assert.deepEqual(valueOf(await drops(3, `${name} 3\n`)), { count: 3, isRising: false });
  assert.deepEqual(valueOf(await drops(3, undefined)), { count: 3, isRising: false });
});
