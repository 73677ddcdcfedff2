/** `cleanup --mode ipvs` and `--drain`, from the command line to the exit code. */
import assert from "node:assert/strict";
import { createCleanupCommand } from "../../../cmd/cleanup.ts";
import type { AskPage, PageAnswer } from "../../../lib/health/ask_page.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import type { IpvsServer } from "../../../lib/kernel/ipvs/ipvs.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { inFolder } from "../../fakes/folder.ts";
import { type Ran, runProgram } from "../surroundings.ts";

const page = (body: string): PageAnswer => ({ kind: "page", status: 200, body });
const endpoint = { address: "10.128.0.1", port: 8080 };

function server(address: string): IpvsServer {
  return { family: "IPv4", protocol: "tcp", address, port: 80, scheduler: "rr", flags: 0 };
}

/** Two addresses on the link, one with a connection; and a server of somebody else. */
async function leftBehind(): Promise<FakeKernel> {
  const kernel = new FakeKernel();
  const { index: linkIndex } = kernel.links.ensureDummy("kube-ipvs0");
  for (const address of ["172.30.0.1", "172.30.0.2", "192.0.2.9"]) {
    kernel.ipvs.edit([
      { kind: "add-server", server: server(address) },
      {
        kind: "add-destination",
        server: server(address),
        destination: { ...endpoint, forwarding: "masquerade", weight: 1 },
      },
    ]);
  }
  await kernel.links.changeAddresses(["172.30.0.1", "172.30.0.2"].map((ip) => (
    { kind: "add", linkIndex, ip, prefixLength: 32 } as const
  )));
  kernel.ipset.edit([{
    kind: "create",
    set: { name: "KUBE-IPVS-IPS", type: "hash:ip", family: "IPv4" },
  }]);
  kernel.ipvs.setConnections(server("172.30.0.1"), endpoint, { active: 2 });
  return kernel;
}

interface Setup {
  readonly kernel: FakeKernel;
  readonly clock?: FakeClock;
  readonly live?: string;
  readonly isTerminal?: boolean;
}

function cleanup(
  args: readonly string[],
  { clock = new FakeClock(), isTerminal, kernel, live = "nftables" }: Setup,
): Promise<Ran> {
  const ask: AskPage = ({ path }) =>
    Promise.resolve(live !== "" && path === "/proxyMode" ? page(live) : { kind: "nobody" });
  const command = createCleanupCommand({ ask, clock, openKernel: () => kernel });
  const entry = { words: ["cleanup"], summary: "", load: () => Promise.resolve(command) };
  return runProgram(["cleanup", ...args], {
    entries: [entry],
    ...(isTerminal === undefined ? {} : { isTerminal }),
  });
}

const addressesIn = ({ ipvs }: FakeKernel) => ipvs.read().map((each) => each.server.address);

Deno.test("cleanup --mode ipvs removes its own, cuts connections, and leaves others' servers", async () => {
  const kernel = await leftBehind();
  const ran = await cleanup(["--mode=ipvs"], { kernel });
  assert.deepEqual([ran.exitCode, addressesIn(kernel)], [0, ["192.0.2.9"]]);
  assert.equal(
    ran.stdout,
    "ipvs mode: 4 things to remove\n  delete link kube-ipvs0 (IPv4)\n" +
      "  delete virtual server -t 172.30.0.1:80 (IPv4)\n" +
      "  delete virtual server -t 172.30.0.2:80 (IPv4)\n" +
      "  delete set KUBE-IPVS-IPS (IPv4)\nipvs mode: removed 4 things\n",
  );
  assert.equal(
    (await cleanup(["--mode=ipvs"], { kernel })).stdout,
    "ipvs mode: nothing to clean\n",
  );
});

Deno.test("cleanup --drain waits for connections, then removes the rest", async () => {
  const kernel = await leftBehind();
  const clock = new FakeClock();
  const running = cleanup(["--mode=ipvs", "--drain"], { kernel, clock, isTerminal: true });
  while (clock.sleepers === 0) await Promise.resolve();
  assert.deepEqual(addressesIn(kernel), ["172.30.0.1", "192.0.2.9"]);
  await clock.advance(59 * 60_000);
  assert.ok(kernel.links.find("kube-ipvs0"));
  kernel.ipvs.setConnections(server("172.30.0.1"), endpoint, { active: 0 });
  await clock.advance(1_000);
  const ran = await running;
  assert.equal(ran.exitCode, 0);
  assert.match(ran.stderr, /Waiting for 2 connections of 1 virtual servers to end, 1h0m0s left/);
  assert.match(ran.stdout, /ipvs mode: removed 4 things\n$/);
  assert.deepEqual([addressesIn(kernel), kernel.ipset.list()], [["192.0.2.9"], []]);
});

Deno.test("cleanup --drain leaves at its deadline what has connections, or cuts it", async () => {
  for (const cuts of [false, true]) {
    const kernel = await leftBehind();
    const clock = new FakeClock();
    const args = ["--mode=ipvs", "--drain", "--drain-timeout=3s"];
    const running = cleanup([...args, ...cuts ? ["--cut-at-deadline"] : []], { kernel, clock });
    while (clock.sleepers === 0) await Promise.resolve();
    for (let i = 0; i < 4; i++) await clock.advance(1_000);
    const ran = await running;
    assert.equal(ran.exitCode, cuts ? 0 : 1);
    assert.equal(kernel.ipset.list().length, cuts ? 0 : 1);
    if (cuts) continue;
    assert.match(
      ran.stdout,
      /removed 1 thing\nipvs mode: virtual server -t 172\.30\.0\.1:80 remains: 2 connections are established; /,
    );
  }
});

const refusals = [
  {
    args: ["--mode=ipvs", "--drain"],
    live: "",
    says: /no proxy serves in another mode on this node; /,
  },
  {
    args: ["--mode=ipvs", "--drain", "--force"],
    live: "ipvs",
    says: /Cannot drain ipvs mode: a proxy in ipvs mode runs here and answers at /,
  },
  { args: ["--mode=ipvs", "--drain"], live: "<html>", says: /does not tell its mode; / },
  {
    args: ["--mode=nftables", "--drain"],
    live: "iptables",
    says: /Cannot drain with --mode nftables: /,
  },
  { args: ["--mode=all", "--drain"], live: "nftables", says: /Cannot drain with --mode all: / },
  {
    args: ["--mode=ipvs", "--cut-at-deadline"],
    live: "nftables",
    says: /Cannot use --cut-at-deadline without --drain; give --drain too/,
  },
  {
    args: ["--mode=ipvs", "--drain-timeout=1m"],
    live: "nftables",
    says: /Cannot use --drain-timeout/,
  },
];
for (const { args, live, says } of refusals) {
  Deno.test(`cleanup ${args.join(" ")} beside ${live || "nobody"} is refused`, async () => {
    const kernel = await leftBehind();
    const ran = await cleanup(args, { kernel, live });
    assert.equal(ran.exitCode, 2);
    assert.match(ran.stderr, says);
    assert.equal(addressesIn(kernel).length, 3);
  });
}

Deno.test("cleanup --drain --dry-run changes nothing and waits for nobody", async () => {
  const kernel = await leftBehind();
  const ran = await cleanup(["--mode=ipvs", "--drain", "--dry-run"], { kernel, live: "" });
  assert.deepEqual([ran.exitCode, addressesIn(kernel).length], [0, 3]);
});

Deno.test("cleanup leaves what the configuration excludes", () =>
  inFolder(async (folder) => {
    const kernel = await leftBehind();
    const file = `${folder}/config.yaml`;
    await Deno.writeTextFile(
      file,
      "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n" +
        "ipvs:\n  excludeCIDRs: [172.30.0.1/32]\n",
    );
    await cleanup(["--mode=ipvs", `--config=${file}`], { kernel });
    assert.deepEqual(addressesIn(kernel), ["172.30.0.1", "192.0.2.9"]);
  }));
