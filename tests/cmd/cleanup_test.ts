import assert from "node:assert/strict";
import type { AskPage, PageAnswer } from "../../lib/health/ask_page.ts";
import { Errno } from "../../lib/kernel/errno.ts";
import { FakeKernel } from "../../lib/kernel/fake_kernel.ts";
import { FakeSelf } from "../../lib/kernel/fake_self.ts";
import { NetlinkError } from "../../lib/kernel/netlink/errors.ts";
import { createCleanupCommand } from "../../cmd/cleanup.ts";
import { inFolder } from "../fakes/folder.ts";
import { type Ran, runProgram } from "./surroundings.ts";

/** By address and path: `127.0.0.1:10249/proxyMode`; nobody answers elsewhere. */
type Pages = Readonly<Record<string, PageAnswer>>;

interface Setup {
  readonly kernel?: FakeKernel;
  readonly pages?: Pages;
  readonly isTerminal?: boolean;
}

const page = (body: string, status = 200): PageAnswer => ({ kind: "page", status, body });
const theirs = { family: "ip", name: "kube-proxy-of-somebody-else" } as const;

async function leftoverKernel(): Promise<FakeKernel> {
  const kernel = new FakeKernel();
  for (
    const table of [
      { family: "ip", name: "kube-proxy" } as const,
      theirs,
      { family: "ip6", name: "kube-proxy" } as const,
    ]
  ) {
    await kernel.tables.commit(table, [{ kind: "add-table" }]);
  }
  return kernel;
}

async function cleanup(args: readonly string[], setup: Setup = {}): Promise<Ran> {
  const { kernel = await leftoverKernel(), pages = {}, isTerminal } = setup;
  const ask: AskPage = ({ address: { hostname, port }, path }) =>
    Promise.resolve(pages[`${hostname}:${port}${path}`] ?? { kind: "nobody" });
  const command = createCleanupCommand({ ask, openKernel: () => kernel });
  const entry = { words: ["cleanup"], summary: "", load: () => Promise.resolve(command) };
  return await runProgram(["cleanup", ...args], {
    entries: [entry],
    ...(isTerminal === undefined ? {} : { isTerminal }),
  });
}

Deno.test("cleanup prints what it removes, removes it and nothing else; a second run has nothing to do", async () => {
  const kernel = await leftoverKernel();
  const first = await cleanup(["--mode", "nftables"], { kernel });
  assert.deepEqual(first, {
    exitCode: 0,
    stdout: "nftables mode: 2 things to remove\n" +
      "  delete table kube-proxy (IPv4)\n" +
      "  delete table kube-proxy (IPv6)\n" +
      "nftables mode: removed 2 things\n",
    stderr: "",
  });
  assert.deepEqual(await kernel.tables.listTables(), [theirs]);
  const second = await cleanup(["--mode", "nftables"], { kernel });
  assert.deepEqual(second, {
    exitCode: 0,
    stdout: "nftables mode: nothing to clean\n",
    stderr: "",
  });
});

Deno.test("cleanup --dry-run changes nothing, and asks no proxy", async () => {
  const kernel = await leftoverKernel();
  const before = await kernel.tables.generation();
  const pages = { "127.0.0.1:10249/proxyMode": page("nftables") };
  const ran = await cleanup(["--mode=nftables", "--dry-run"], { kernel, pages });
  assert.equal(ran.exitCode, 0);
  assert.match(
    ran.stdout,
    /^nftables mode: 2 things would be removed\n {2}delete table kube-proxy \(IPv4\)\n/,
  );
  assert.match(ran.stdout, /\nnftables mode: nothing was changed \(dry run\)\n$/);
  assert.equal(await kernel.tables.generation(), before);
});

Deno.test("cleanup -o json tells the same to programs", async () => {
  const kernel = await leftoverKernel();
  const planned = JSON.parse(
    (await cleanup(["--mode=nftables", "-o=json", "--dry-run"], { kernel })).stdout,
  );
  const done = JSON.parse((await cleanup(["--mode=nftables", "-o=json"], { kernel })).stdout);
  const step = {
    action: "delete",
    backend: "nftables",
    kind: "table",
    place: "",
    name: "kube-proxy",
  };
  const steps = [{ ...step, family: "IPv4" }, { ...step, family: "IPv6" }];
  const mode = { mode: "nftables", planned: steps, kept: [], remaining: [], remarks: [] };
  assert.deepEqual(planned, { schemaVersion: 1, dryRun: true, modes: [{ ...mode, removed: [] }] });
  assert.deepEqual(done, { schemaVersion: 1, dryRun: false, modes: [{ ...mode, removed: steps }] });
});

Deno.test("cleanup shows progress on a terminal, and nothing of it in a pipe", async () => {
  const { stderr } = await cleanup(["--mode=nftables"], { isTerminal: true });
  assert.match(stderr, /Looking for what nftables mode left/);
  assert.match(stderr, /Removing what nftables mode left, and reading again/);
  assert.ok(stderr.endsWith("\r\x1b[K"), "the line is empty at the end");
});

const refusals: readonly {
  readonly what: string;
  readonly mode: string;
  readonly pages: Pages;
  readonly says: RegExp | undefined;
}[] = [
  {
    what: "a proxy of that mode",
    mode: "nftables",
    pages: { "127.0.0.1:10249/proxyMode": page("nftables") },
    says:
      /^Error: Cannot clean up after nftables mode: a proxy in nftables mode runs here and answers at http:\/\/127\.0\.0\.1:10249\/proxyMode; stop it first, or give --force\n$/,
  },
  {
    what: "a proxy of another mode",
    mode: "nftables",
    pages: { "127.0.0.1:10249/proxyMode": page("iptables\n") },
    says: undefined,
  },
  {
    what: "a proxy of any mode, for all modes",
    mode: "all",
    pages: { "127.0.0.1:10249/proxyMode": page("iptables") },
    says: /after all modes: a proxy in iptables mode runs here/,
  },
  {
    what: "a server that does not tell its mode",
    mode: "nftables",
    pages: { "127.0.0.1:10249/proxyMode": page("404 page not found", 404) },
    says: /answers at http:\/\/127\.0\.0\.1:10249\/proxyMode and does not tell its mode/,
  },
  {
    what: "a server that fails, whatever it says",
    mode: "nftables",
    pages: { "127.0.0.1:10249/proxyMode": page("iptables", 500) },
    says: /does not tell its mode/,
  },
  {
    what: "a server that says what is no mode",
    mode: "nftables",
    pages: { "127.0.0.1:10249/proxyMode": page("<html>") },
    says: /does not tell its mode/,
  },
  {
    what: "a server that never answers",
    mode: "nftables",
    pages: { "127.0.0.1:10249/proxyMode": { kind: "silent" } },
    says: /does not tell its mode/,
  },
  {
    what: "a proxy whose health page alone answers, by IPv6",
    mode: "nftables",
    pages: { "::1:10256/livez": page("ok", 503) },
    says: /a proxy answers at http:\/\/\[::1\]:10256\/livez and does not tell its mode/,
  },
];

for (const { mode, pages, says, what } of refusals) {
  Deno.test(`cleanup --mode ${mode} beside ${what} ${says ? "is refused as a whole" : "goes on"}`, async () => {
    const kernel = await leftoverKernel();
    const ran = await cleanup([`--mode=${mode}`], { kernel, pages });
    assert.equal(ran.exitCode, says ? 2 : 0);
    if (says) {
      assert.match(ran.stderr, says);
      assert.equal(ran.stdout, "");
    }
    assert.equal((await kernel.tables.listTables()).length, says ? 3 : 1);
  });
}

Deno.test("cleanup --force goes on beside a proxy of that mode, and json says why it was refused", async () => {
  const pages = { "127.0.0.1:10249/proxyMode": page("nftables") };
  assert.equal((await cleanup(["--mode=nftables", "--force"], { pages })).exitCode, 0);
  const ran = await cleanup(["--mode=nftables", "-o=json"], { pages });
  const { modes, refused, schemaVersion } = JSON.parse(ran.stdout);
  assert.deepEqual([ran.exitCode, schemaVersion, modes], [2, 1, []]);
  assert.match(refused, /a proxy in nftables mode runs here/);
});

Deno.test("cleanup asks the proxy where its configuration puts its pages", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/config.yaml`;
    const header = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
    await Deno.writeTextFile(
      file,
      `${header}metricsBindAddress: 192.168.0.2:9000\nhealthzBindAddress: ""\n`,
    );
    const args = ["--mode=nftables", `--config=${file}`];
    const pages = { "192.168.0.2:9000/proxyMode": page("nftables") };
    assert.equal((await cleanup(args, { pages })).exitCode, 2);
    const elsewhere = { "127.0.0.1:10249/proxyMode": page("nftables") };
    assert.equal((await cleanup(args, { pages: elsewhere })).exitCode, 0);
    await Deno.writeTextFile(file, `${header}metricsBindAddress: nowhere\n`);
    const kernel = await leftoverKernel();
    const broken = await cleanup(args, { kernel });
    assert.equal(broken.exitCode, 2);
    assert.match(
      broken.stderr,
      /^Error: Cannot clean up: .*config\.yaml:3:\d+: metricsBindAddress/,
    );
    const missing = await cleanup(["--mode=nftables", `--config=${folder}/none.yaml`], { kernel });
    assert.equal(missing.exitCode, 2);
    assert.match(missing.stderr, /Cannot clean up: Cannot read ".*none\.yaml": no such file/);
    assert.equal((await kernel.tables.listTables()).length, 3);
  });
});

Deno.test("cleanup without a mode, with an unknown one or without rights is wrong usage", async () => {
  const none = await cleanup([]);
  assert.equal(none.exitCode, 2);
  assert.equal(
    none.stderr,
    "Error: Missing --mode; give --mode nftables, --mode iptables, --mode ipvs, --mode userspace, --mode all\n",
  );
  const unknown = await cleanup(["--mode=ebpf"]);
  assert.equal(unknown.exitCode, 2);
  assert.match(unknown.stderr, /"ebpf" is none of nftables, iptables, ipvs, userspace, all/);
  const self = new FakeSelf({ hasNetAdmin: false });
  const ran = await cleanup(["--mode=nftables"], { kernel: new FakeKernel({ self }) });
  assert.equal(ran.exitCode, 2);
  assert.match(
    ran.stderr,
    /^Error: Cannot clean up: this process lacks CAP_NET_ADMIN; run it as root/,
  );
});

Deno.test("cleanup goes on after a failure, says what remains and ends with 1", async () => {
  const kernel = await leftoverKernel();
  kernel.tables.refuse((_, table) => table.family === "ip" ? Errno.EBUSY : undefined);
  const ran = await cleanup(["--mode=nftables"], { kernel });
  assert.equal(ran.exitCode, 1);
  assert.match(
    ran.stdout,
    /\nnftables mode: removed 1 thing\nnftables mode: table ip kube-proxy remains: .*EBUSY/,
  );
  assert.deepEqual((await kernel.tables.listTables()).map(({ family }) => family), ["ip", "ip"]);
});

Deno.test("cleanup without nf_tables has nothing to clean, and says why", async () => {
  const nftablesRefusal = new NetlinkError({
    op: "open a netlink socket",
    errno: Errno.EPROTONOSUPPORT,
  });
  const ran = await cleanup(["--mode=nftables"], { kernel: new FakeKernel({ nftablesRefusal }) });
  assert.deepEqual([ran.exitCode, ran.stdout], [
    0,
    "nftables mode: nothing to clean\n  this kernel has no nf_tables, or its module is not loaded\n",
  ]);
});

Deno.test("cleanup that cannot read says so and ends with 1", async () => {
  const nftablesRefusal = new NetlinkError({ op: "open a netlink socket", errno: Errno.EPERM });
  const ran = await cleanup(["--mode=nftables"], { kernel: new FakeKernel({ nftablesRefusal }) });
  assert.equal(ran.exitCode, 1);
  assert.match(
    ran.stdout,
    /^nftables mode: whatever nftables mode left remains: Cannot open a netlink socket: .*EPERM/,
  );
});
