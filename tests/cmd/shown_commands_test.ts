/** Every command that README and docs show, run and judged by its effect and by what the page says. */
import assert from "node:assert/strict";
import type { FakeKernel } from "../../lib/kernel/fake_kernel.ts";
import { FakeApiserver } from "../fakes/apiserver.ts";
import { ownLoopbackAddress } from "../fakes/own_loopback_address.ts";
import {
  kubeconfigFor,
  nodeKernel,
  nodeObject,
  ProxyRun,
  serviceObject,
  sliceObject,
} from "./run/proxy_rig.ts";
import { type ShownCommand, shownCommands } from "./shown_commands.ts";

const root = new URL("../../", import.meta.url).pathname;
const docs = [...Deno.readDirSync(`${root}docs`)].map(({ name }) => name)
  .filter((name) => name.endsWith(".md")).sort();

/** What a reader has beside the page: the files that the commands name, and a cluster. */
interface Reader {
  readonly folder: string;
  readonly apiserver: FakeApiserver;
  /** Runs a shown command; names of files mean those of the reader or of the checkout. */
  run(
    command: ShownCommand,
    more?: {
      readonly stdin?: string;
      readonly args?: string[];
      readonly kernel?: FakeKernel;
    },
  ): ProxyRun;
  /** The text without the folder's name, as the page prints it. */
  asShown(text: string): string;
}

type Judge = (command: ShownCommand, reader: Reader) => Promise<void>;

async function withReader(body: (reader: Reader) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kpt-reader-" });
  const apiserver = await FakeApiserver.start();
  const runs: ProxyRun[] = [];
  try {
    apiserver.put("nodes", nodeObject());
    apiserver.put("services", serviceObject("web", "172.30.0.10"));
    apiserver.put("endpointslices", sliceObject("web", "10.128.0.1"));
    await Deno.writeTextFile(`${folder}/kubeconfig`, kubeconfigFor(apiserver));
    await writeFiles(folder);
    const reader: Reader = {
      folder,
      apiserver,
      run: (command, { stdin, args = [], kernel } = {}) => {
        const words = command.line.slice(command.line.lastIndexOf("kube-proxy ")).split(" ");
        const commandLine = [...words.slice(1).map((word) => placed(word, folder)), ...args];
        const run = new ProxyRun({ commandLine, stdin, kernel });
        runs.push(run);
        return run;
      },
      asShown: (text) => text.replaceAll(`${folder}/`, "").replaceAll(root, ""),
    };
    await body(reader);
  } finally {
    for (const run of runs) await run[Symbol.asyncDispose]();
    await apiserver[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
}

function placed(word: string, folder: string): string {
  if (word.startsWith("examples/")) return root + word;
  // The node's files, seen from a pod: here they are where they always are.
  if (word === "/host") return "/";
  return word.endsWith(".yaml") ? `${folder}/${word}` : word;
}

/** The files are those that the page shows, or what it says of them. */
async function writeFiles(folder: string): Promise<void> {
  const page = await Deno.readTextFile(`${root}docs/configuration.md`);
  const shown = /^\$ cat kube-proxy\.yaml\n([^]*?)^\$ /m.exec(page)?.[1];
  assert.ok(shown, "docs/configuration.md shows the file that it converts");
  const address = ownLoopbackAddress();
  const files: Readonly<Record<string, string>> = {
    "kube-proxy.yaml": shown,
    "old.yaml": shown,
    "broken.yaml": "apiVersion: kubeproxy.config.k8s.io/v1alpha2\nkind: KubeProxyConfiguration\n" +
      "modee: nftables\nlinux:\n  oomScoreAdj: 5000\n",
    "config.yaml": JSON.stringify({
      apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
      kind: "KubeProxyConfiguration",
      mode: "nftables",
      healthzBindAddress: `${address}:10256`,
      metricsBindAddress: `${address}:10249`,
      clientConnection: { kubeconfig: `${folder}/kubeconfig` },
      conntrack: { maxPerCore: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    }),
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
}

function pages(): string[] {
  const address = ownLoopbackAddress();
  return [
    `--healthz-bind-address=${address}:10256`,
    `--metrics-bind-address=${address}:10249`,
  ];
}

function written(run: ProxyRun): string {
  return JSON.stringify(run.kernel.tables.commits.map(({ operations }) => operations));
}

/** Ends with the code, and prints what the page says where it says something. */
function prints(code: number): Judge {
  return async (command, { run: start, asShown }) => {
    const run = start(command);
    assert.equal(await run.ended(), code, run.stderr);
    const printed = asShown(run.stdout + run.stderr).trimEnd();
    if (command.output !== undefined) assert.equal(printed, command.output);
    else assert.notEqual(printed, "");
  };
}

/** A line of synopsis: the command's own help knows each of its flags. */
const synopsis: Judge = async ({ line, ...rest }, { run: start }) => {
  const [words] = line.split(/ [A-Z[]/);
  const run = start({ ...rest, line: `${words} --help` });
  assert.equal(await run.ended(), 0);
  for (const [, flag] of line.matchAll(/\[(--?[a-z-]+)/g)) {
    assert.match(run.stdout, new RegExp(`(^|\\s)${flag}[ ,\\n]`, "m"), `${words} ${flag}`);
  }
};

const convertsInto = (name: string, version: string): Judge => async (command, reader) => {
  const run = reader.run(command);
  assert.equal(await run.ended(), 0, run.stderr);
  const text = await Deno.readTextFile(`${reader.folder}/${name}`);
  assert.match(text, new RegExp(`^apiVersion: kubeproxy\\.config\\.k8s\\.io/${version}$`, "m"));
  const check = reader.run({ ...command, line: `kube-proxy config validate ${name}` });
  assert.equal(await check.ended(), 0, check.stdout + check.stderr);
};

/** On a node where the mode ran: the table of another program stays in any case. */
const cleansUp = ({ isDry }: { readonly isDry: boolean }): Judge => async (command, reader) => {
  const kernel = nodeKernel();
  const ours = { family: "ip", name: "kube-proxy" } as const;
  const theirs = { family: "ip", name: "nat" } as const;
  for (const table of [ours, theirs]) await kernel.tables.commit(table, [{ kind: "add-table" }]);
  const run = reader.run(command, { kernel });
  assert.equal(await run.ended(), 0, run.stderr);
  assert.match(run.stdout, /delete table kube-proxy \(IPv4\)/);
  assert.deepEqual(await kernel.tables.listTables(), isDry ? [ours, theirs] : [theirs]);
};

/** The same for chains of iptables. */
const cleansUpIptables =
  ({ isDry }: { readonly isDry: boolean }): Judge => async (command, reader) => {
    const kernel = nodeKernel();
    const [ours, theirs] = ["KUBE-SERVICES", "DOCKER"];
    kernel.rules.nft.edit("IPv4", [
      { kind: "add-table", table: "nat" },
      { kind: "add-chain", table: "nat", chain: ours },
      { kind: "add-chain", table: "nat", chain: theirs },
    ]);
    const run = reader.run(command, { kernel });
    assert.equal(await run.ended(), 0, run.stderr);
    assert.match(run.stdout, /delete chain KUBE-SERVICES of table nat \(nft, IPv4\)/);
    const { chains } = await kernel.rules.nft.read("IPv4", ["nat"]);
    const left = chains.filter(({ isBuiltIn }) => !isBuiltIn).map(({ name }) => name);
    assert.deepEqual(left, isDry ? [ours, theirs] : [theirs]);
  };

/** On a kernel in memory, beside this machine's files: what they hold decides the rest of the answer. */
const diagnoses: Judge = async (command, reader) => {
  const run = reader.run(command);
  assert.match(`${await run.ended()}`, /^[12]$/, run.stderr);
  assert.match(run.stdout, /^Node node-a, Linux /);
  assert.match(run.stdout, /\n {2}unknown DRY01|\n {2}skip {4}DRY01/);
  assert.match(run.stdout, /\ncan move: (cannot tell|no), because /);
};

const judges: Readonly<Record<string, Judge>> = {
  "kube-proxy run --config config.yaml": async (command, { run: start }) => {
    const run = start(command);
    await run.said("In sync");
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
    assert.equal(await run.end(), 0);
  },
  "kube-proxy run --manifests examples/shop": async (command, { run: start }) => {
    const run = start(command, { args: pages() });
    await run.said("In sync");
    const clusterIPs = await run.clusterIPs();
    assert.ok(clusterIPs.includes("192.0.2.80") && clusterIPs.includes("2001:db8:30::80"));
    // The host is not called as the Node of the example: node ports answer all the same.
    assert.match(run.stderr, /"Taking the addresses of this node .* addresses="192\.168\.0\.2,/);
    assert.match(run.stderr, /give --hostname-override=shop-node where it is/);
    const nodePorts = written(run);
    assert.ok(nodePorts.includes("192.168.0.2") && nodePorts.includes("30080"));
    assert.equal(await run.end(), 0);
  },
  "kube-proxy run --manifests examples/shop --dry-run": async (command, { run: start }) => {
    const run = start(command, { args: pages() });
    assert.equal(await run.ended(), 0);
    assert.match(run.stdout, /^add table ip kube-proxy$[^]*192\.0\.2\.80[^]*30080/m);
    assert.deepEqual(run.kernel.tables.commits, []);
  },
  "kube-proxy run --config … --dry-run": async (command, { run: start }) => {
    const run = start({ ...command, line: command.line.replace("…", "config.yaml") });
    assert.equal(await run.ended(), 0, run.stderr);
    assert.match(run.stdout, /172\.30\.0\.10/);
    assert.deepEqual(run.kernel.tables.commits, []);
  },
  "kube-proxy run --config examples/config/mixed_fleet.yaml --config examples/config/instance.yaml":
    async (command, { run: start }) => {
      // The node of the example has an apiserver: what stands in the way is the way there alone.
      const run = start(command);
      assert.equal(await run.ended(), 1);
      assert.equal(run.complaints.length, 1);
      assert.match(run.complaints[0], /Cannot read .*kubeconfig\.conf/);
    },
  "kube-proxy --config old.yaml --write-config-to new.yaml": convertsInto("new.yaml", "v1alpha2"),
  "kube-proxy config convert old.yaml --out new.yaml": convertsInto("new.yaml", "v1alpha2"),
  "kube-proxy config convert kube-proxy.yaml": prints(0),
  "kube-proxy config convert kube-proxy.yaml --to v1alpha1 --fail-on-loss --out kube-proxy.yaml":
    convertsInto("kube-proxy.yaml", "v1alpha1"),
  "kubectl -n kube-system get configmap kube-proxy -o yaml | kube-proxy config convert -": async (
    command,
    { run: start },
  ) => {
    const golden = `${root}tests/golden/config/kubeadm_configmap`;
    const run = start(command, { stdin: await Deno.readTextFile(`${golden}.yaml`) });
    assert.equal(await run.ended(), 0, run.stderr);
    assert.equal(run.stdout, await Deno.readTextFile(`${golden}_v1alpha2.yaml`));
  },
  "kube-proxy config validate config.yaml": prints(0),
  "kube-proxy config validate broken.yaml": prints(1),
  "kube-proxy config validate examples/config/mixed_fleet.yaml examples/config/instance.yaml":
    prints(0),
  "kube-proxy config defaults": prints(0),
  "kube-proxy config defaults --mode nftables": prints(0),
  "kube-proxy config schema": async (command, { run: start }) => {
    const run = start(command);
    assert.equal(await run.ended(), 0);
    assert.equal(typeof JSON.parse(run.stdout).$schema, "string");
  },
  "kube-proxy cleanup --mode nftables --dry-run": cleansUp({ isDry: true }),
  "kube-proxy cleanup --mode nftables": cleansUp({ isDry: false }),
  "kube-proxy cleanup --mode iptables --dry-run": cleansUpIptables({ isDry: true }),
  "kube-proxy cleanup --mode iptables": cleansUpIptables({ isDry: false }),
  "kube-proxy cleanup --mode ipvs --drain --drain-timeout 30m": async (command, { run: start }) => {
    // Nobody else serves the reader's node: the page says that this is refused.
    const run = start(command);
    assert.equal(await run.ended(), 2);
    assert.match(
      run.stderr,
      /Cannot drain ipvs mode: no proxy serves in another mode on this node/,
    );
  },
  "kube-proxy doctor --manifests examples/shop": diagnoses,
  "kube-proxy doctor --config config.yaml": diagnoses,
  "kubectl debug node/NODE -it --profile=sysadmin --image=IMAGE-WITH-KUBE-PROXY -- kube-proxy doctor --host-root /host":
    diagnoses,
  "kube-proxy help": prints(0),
  "kube-proxy namespaces list": synopsis,
  "kube-proxy namespaces opt-out NAME... [--dry-run] [--force] [--yes] [-o json] [--kubeconfig FILE]":
    synopsis,
  "kube-proxy namespaces opt-in NAME... [--dry-run] [--yes] [-o json] [--kubeconfig FILE]":
    synopsis,
  "kube-proxy namespaces list [-o json] [--kubeconfig FILE]": synopsis,
};

Deno.test("every command that README and docs show does what the page says", async (test) => {
  const shown: ShownCommand[] = [];
  for (const page of ["README.md", ...docs.map((name) => `docs/${name}`)]) {
    shown.push(...shownCommands(page, await Deno.readTextFile(root + page)));
  }
  const untested = shown.filter(({ line }) => !Object.hasOwn(judges, line));
  assert.deepEqual(untested, [], "a page shows a command that is not judged here");
  const lines = new Set(shown.map(({ line }) => line));
  const unshown = Object.keys(judges).filter((line) => !lines.has(line));
  assert.deepEqual(unshown, [], "no page shows these commands any more");
  for (const command of shown) {
    await test.step(`${command.page}: ${command.line}`, () =>
      withReader((reader) => judges[command.line](command, reader)));
  }
});

Deno.test("shownCommands() finds commands in blocks, with their output, and in code spans", () => {
  const markdown = [
    "`kube-proxy` is the name, `a | kube-proxy config convert -` and `kube-proxy help` are commands.",
    "```",
    "kube-proxy run --once  # and ends",
    "something else",
    "```",
    "```console",
    "$ cat a.yaml",
    "kube-proxy is no command here",
    "$ kube-proxy config validate a.yaml",
    "a.yaml: valid",
    "$ kube-proxy config schema",
    "```",
    "",
  ].join("\n");
  const found = shownCommands("page", markdown).map(({ line, output }) =>
    output === undefined ? line : `${line} -> ${output}`
  );
  assert.deepEqual(found, [
    "kube-proxy run --once",
    "kube-proxy config validate a.yaml -> a.yaml: valid",
    "kube-proxy config schema",
    "a | kube-proxy config convert -",
    "kube-proxy help",
  ]);
});
