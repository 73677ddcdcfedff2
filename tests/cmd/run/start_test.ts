/** How a proxy starts: what it sets, what it asks, what it programs, and why it would not. */
import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { FakeHost } from "../../../lib/kernel/fake_host.ts";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { NetlinkError } from "../../../lib/kernel/netlink/errors.ts";
import { FakeNftables } from "../../../lib/kernel/nftables/fake.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import {
  nodeKernel,
  nodeName,
  nodeObject,
  serviceObject,
  sliceObject,
  withApiserver,
  withManifests,
  writeManifests,
} from "./proxy_rig.ts";

Deno.test("a proxy of files programs what they say; SIGTERM ends it with 0 and leaves its rules", () =>
  withManifests({}, async (run, folder) => {
    await run.said("In sync");
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
    await writeManifests(folder, [serviceObject("cart", "172.30.0.11")]);
    await run.until("the new Service", async () => (await run.clusterIPs()).length === 2);
    assert.equal(await run.end(), 0);
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10", "172.30.0.11"]);
    assert.deepEqual(run.complaints, []);
  }));

Deno.test("a proxy of an apiserver asks for the node first, tells the Event of its start, and follows changes", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    const run = start();
    await run.said("In sync");
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
    apiserver.put("services", serviceObject("cart", "172.30.0.11"));
    await run.until("the new Service", async () => (await run.clusterIPs()).length === 2);
    const told = () =>
      apiserver.requests.filter(({ path }) => path.endsWith("/events"))
        .map(({ body }) => JSON.parse(body)).map(({ reason, regarding }) =>
          `${reason} ${regarding.kind} ${regarding.name}`
        );
    await run.until("the Event", () => told().length > 0);
    assert.deepEqual(told(), ["Starting Node node-a"]);
    assert.match(
      apiserver.requests[0].headers.get("user-agent") ?? "",
      /^kube-proxy\/v1\.\d+\.\d+ \(linux\/(amd64|arm64)\) kubernetes\/\w+$/,
    );
    assert.equal(await run.end(), 0);
    await run.until("closed watches", () => apiserver.openWatches.length === 0);
    assert.deepEqual(run.complaints, []);
  }));

Deno.test("a change of one family leaves the other one's table alone", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    const run = start();
    await run.said("In sync");
    await run.until("rest", () => apiserver.openWatches.length >= 5);
    const before = run.kernel.tables.commits.length;
    apiserver.put("endpointslices", sliceObject("web", "10.128.0.2"));
    await run.until("a commit", () => run.kernel.tables.commits.length > before);
    const families = run.kernel.tables.commits.slice(before).map(({ table }) => table.family);
    assert.deepEqual([...new Set(families)], ["ip"]);
  }));

Deno.test("a proxy whose mode nobody chose says what it runs and what will change, also as an Event", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    const sysctl = new FakeSysctl({ "net/ipv4/conf/all/route_localnet": "0" });
    const args = ["--proxy-mode=", "--nodeport-addresses=primary"];
    const run = start({ args, kernel: nodeKernel({ sysctl }) });
    await run.said("In sync");
    const sentence =
      "No mode is set: that means iptables until Kubernetes 1.40 and nftables from " +
      'then on; set "mode: iptables" to stay or "mode: nftables" to move now';
    const notes = () =>
      apiserver.requests.filter(({ path }) => path.endsWith("/events"))
        .map(({ body }) => JSON.parse(body)).filter(({ reason }) =>
          reason === "KubeProxyDefaultMode"
        )
        .map(({ note, type }) => `${type}: ${note}`);
    await run.until("the Event", () => notes().length > 0);
    assert.deepEqual(notes(), [`Warning: ${sentence}`]);
    assert.equal(run.complaints.length, 1, run.complaints.join("\n"));
    assert.ok(run.complaints[0].includes(JSON.stringify(sentence)), run.complaints[0]);
    assert.equal(await run.end(), 0);
  }));

Deno.test("a proxy of files whose mode nobody chose says which it is", () =>
  withManifests({ args: ["--proxy-mode="] }, async (run) => {
    await run.said("No mode is set: with files that means nftables");
    await run.said("In sync");
    assert.deepEqual(run.complaints, []);
  }));

const refusals: readonly {
  readonly name: string;
  readonly kernel: () => ReturnType<typeof nodeKernel>;
  readonly args?: readonly string[];
  readonly says: RegExp;
}[] = [
  {
    name: "no CAP_NET_ADMIN",
    kernel: () => nodeKernel({ self: new FakeSelf({ hasNetAdmin: false }) }),
    says: /Cannot program the kernel: this process lacks CAP_NET_ADMIN; run it as root/,
  },
  {
    name: "no nf_tables socket",
    kernel: () =>
      nodeKernel({
        nftablesRefusal: new NetlinkError({
          op: "open an nf_tables socket",
          errno: Errno.EPROTONOSUPPORT,
        }),
      }),
    says: /Cannot open an nf_tables socket: protocol not supported \(EPROTONOSUPPORT\)/,
  },
  {
    name: "no right to nf_tables",
    kernel: () => {
      const tables = new FakeNftables();
      tables.refuse(() => Errno.EOPNOTSUPP);
      return nodeKernel({ tables });
    },
    says: /Cannot program IPv4 in nftables mode: /,
  },
  {
    name: "sysctls of the connection table cannot be written",
    kernel: () => {
      const sysctl = new FakeSysctl({ "net/netfilter/nf_conntrack_max": "1" });
      sysctl.failWrites("*", "read-only");
      return nodeKernel({ sysctl });
    },
    args: ["--conntrack-max-per-core=32768"],
    says: /Cannot prepare the connection table: .*run once with --init-only and more rights/,
  },
  {
    name: "the interfaces cannot be listed",
    kernel: () => {
      const kernel = nodeKernel();
      kernel.links.addresses = () => {
        throw new NetlinkError({ op: "list interface addresses", errno: Errno.EPERM });
      };
      return kernel;
    },
    says: /Cannot list interface addresses: operation not permitted/,
  },
  {
    name: "everything at once",
    kernel: () => {
      const sysctl = new FakeSysctl();
      sysctl.failWrites("*", "refused");
      const tables = new FakeNftables();
      tables.refuse(() => Errno.EPERM);
      const self = new FakeSelf({ hasNetAdmin: false, oomScoreRefusals: Infinity });
      return nodeKernel({ sysctl, tables, self, host: new FakeHost({ ipv6Available: false }) });
    },
    says: /Cannot program the kernel: this process lacks CAP_NET_ADMIN/,
  },
];

Deno.test("a kernel that refuses ends the start with 1 and one sentence, and holds nothing of ours", async (test) => {
  for (const { name, kernel, args = [], says } of refusals) {
    await test.step(name, () =>
      withApiserver(async ({ apiserver, run: start }) => {
        const run = start({ kernel: kernel(), args });
        assert.equal(await run.ended(), 1, run.stderr);
        const said = run.complaints;
        assert.equal(said.length, 1, run.stderr);
        assert.match(said[0], says);
        assert.deepEqual(run.kernel.tables.commits, []);
        await run.until("closed watches", () => apiserver.openWatches.length === 0);
      }));
  }
});

Deno.test("nothing is set or programmed before the node is known", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.delete("nodes", { name: nodeName });
    const sysctl = new FakeSysctl({ "net/netfilter/nf_conntrack_tcp_timeout_established": "1" });
    const run = start({
      kernel: nodeKernel({ sysctl }),
      args: ["--conntrack-tcp-timeout-established=1h"],
    });
    await run.until("watches", () => apiserver.openWatches.length >= 5);
    assert.deepEqual(Object.values(sysctl.values()), ["1"]);
    assert.deepEqual(run.kernel.tables.commits, []);
    apiserver.put("nodes", nodeObject());
    await run.said("In sync");
    assert.deepEqual(Object.values(sysctl.values()), ["3600"]);
    assert.match(run.stderr, /"This node" name="node-a" addresses="192\.168\.0\.2,::1"/);
  }));

Deno.test("a node that nobody makes is waited for half a minute, then the proxy goes on without it", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    apiserver.delete("nodes", { name: nodeName });
    const clock = new FakeClock();
    const run = start({ clock });
    await run.until("watches", () => apiserver.openWatches.length >= 5);
    await clock.advance(29_000);
    assert.ok(!run.stderr.includes("Timed out"));
    await clock.advance(2_000);
    await run.said("Timed out waiting for node to exist");
    await run.until("rules", async () => {
      await clock.advance(20);
      return (await run.clusterIPs()).length > 0;
    });
    assert.equal(await run.end(), 0);
  }));

Deno.test("a kernel without IPv6 runs with IPv4 alone and says so", () =>
  withManifests(
    { kernel: nodeKernel({ host: new FakeHost({ ipv6Available: false }) }) },
    async (run) => {
      await run.said("In sync");
      assert.match(
        run.stderr,
        /"Running with one address family only" missing="IPv6" reason="IPv6 is switched off in this kernel"/,
      );
      assert.ok(run.kernel.tables.commits.every(({ table }) => table.family === "ip"));
    },
  ));

Deno.test("a family whose rules the kernel refuses does not stop the other, and is tried again", () => {
  const tables = new FakeNftables();
  const sentences: string[] = [];
  const clock = new FakeClock();
  return withManifests({ kernel: nodeKernel({ tables }), clock }, async (run) => {
    // The probe's own table passes, so that the refusal comes with the first sync.
    tables.refuse((_operation, { family, name }) =>
      family === "ip6" && name === "kube-proxy" ? Errno.ENOMEM : undefined
    );
    await run.until("the failure", async () => {
      await clock.advance(20);
      return run.stderr.includes("Sync failed");
    });
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10"]);
    sentences.push(...run.complaints);
    assert.equal(sentences.length, 1);
    assert.match(
      sentences[0],
      /"Sync failed" err=".*out of memory \(ENOMEM\).*" ipFamily="IPv6" retryingTime="1s"/,
    );
    tables.refuse(() => undefined);
    await clock.advance(2_000);
    await run.said("In sync");
    assert.equal(await run.end(), 0);
  });
});

Deno.test("a guest of the node, served from files, leaves a connection table that it cannot change", () => {
  const sysctl = new FakeSysctl({ "net/netfilter/nf_conntrack_tcp_timeout_established": "1" });
  sysctl.failWrites("*", "read-only");
  const args = ["--conntrack-tcp-timeout-established=1h"];
  return withManifests({ kernel: nodeKernel({ sysctl }), args }, async (run) => {
    await run.said("In sync");
    assert.match(run.stderr, /"Left the connection table as it is" reason="Cannot set /);
  });
});

Deno.test("a configuration that cannot work on this node ends the start", () =>
  withApiserver(async ({ run: start }) => {
    const kernel = nodeKernel({ host: new FakeHost({ ipv6Available: false }) });
    const run = start({ kernel, args: ["--cluster-cidr=fd00:10:128::/48"] });
    assert.equal(await run.ended(), 1);
    assert.match(
      run.stderr,
      /Cannot start: the cluster is IPv4-only and clusterCIDRs hold IPv6 only/,
    );
    assert.deepEqual(run.kernel.tables.commits, []);
  }));

for (
  const [args, told] of [
    [[], "at once; changes behind another are gathered for at most 10 ms"],
    [["--iptables-min-sync-period=2s"], "2000 ms"],
  ] as const
) {
  Deno.test(`/statusz tells the time between two syncs: ${told}`, () =>
    withManifests({ args: ["--feature-gates=ComponentStatusz=true", ...args] }, async (run) => {
      await run.said("In sync");
      const answer = await fetch(`http://${run.address}:10249/statusz`, {
        headers: { Accept: "text/plain" },
      });
      assert.ok((await answer.text()).includes(`Effective minSyncPeriod=${told}\n`));
    }));
}

Deno.test("a sync that fails is counted under the mode's own name", () => {
  const tables = new FakeNftables();
  tables.refuse((_operation, { name }) => name === "kube-proxy" ? Errno.ENOMEM : undefined);
  return withManifests({ kernel: nodeKernel({ tables }) }, async (run) => {
    await run.said("Sync failed");
    const page = await (await fetch(`http://${run.address}:10249/metrics`)).text();
    assert.match(
      page,
      /^kubeproxy_sync_proxy_rules_nftables_sync_failures_total\{ip_family="IPv4"\} 1$/m,
    );
  });
});
