/** The whole program in ipvs mode, on a kernel in memory. */
import assert from "node:assert/strict";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import type { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeIpvs } from "../../../lib/kernel/ipvs/fake_ipvs.ts";
import { fakeAddress } from "../../../lib/kernel/links/fake_links.ts";
import { inFolder } from "../../fakes/folder.ts";
import {
  nodeKernel,
  ProxyRun,
  serviceObject,
  sliceObject,
  withApiserver,
  withManifests,
  writeManifests,
} from "./proxy_rig.ts";

const sentence =
  "The ipvs mode is deprecated: Kubernetes 1.40 switches it off by default and 1.43 " +
  'removes it; "kube-proxy doctor" tells whether this node can leave it for nftables mode';

const args = ["--proxy-mode=ipvs", "--nodeport-addresses=primary"];

/** A node with the settings that IPVS brings. */
function ipvsKernel(ipvs = new FakeIpvs()): FakeKernel {
  const vs = ["conntrack", "conn_reuse_mode", "expire_nodest_conn", "expire_quiescent_template"];
  return nodeKernel({
    ipvs,
    sysctl: new FakeSysctl(Object.fromEntries([
      ...vs.map((name) => [`net/ipv4/vs/${name}`, "0"]),
      ["net/ipv4/ip_forward", "0"],
    ])),
  });
}

const bound = (kernel: FakeKernel) =>
  kernel.links.addresses().filter(({ linkName }) => linkName === "kube-ipvs0").map(({ ip }) => ip);

Deno.test("a proxy in ipvs mode serves, and says what will become of the mode, also as an Event and a metric", () =>
  withApiserver(async ({ apiserver, run: start }) => {
    const run = start({ args, kernel: ipvsKernel() });
    await run.said("In sync");
    assert.deepEqual(bound(run.kernel), ["172.30.0.10"]);
    const notes = () =>
      apiserver.requests.filter(({ path }) => path.endsWith("/events"))
        .map(({ body }) => JSON.parse(body)).filter(({ reason }) => reason === "IPVSDeprecation")
        .map(({ note, regarding, type }) => `${type} ${regarding.kind}: ${note}`);
    await run.until("the Event", () => notes().length > 0);
    assert.deepEqual(notes(), [`Warning Node: ${sentence}`]);
    assert.equal(run.complaints.length, 1, run.complaints.join("\n"));
    assert.ok(run.complaints[0].includes(JSON.stringify(sentence)), run.complaints[0]);
    const metrics = await (await fetch(`http://${run.address}:10249/metrics`)).text();
    assert.match(metrics, /^kubeproxy_deprecated_mode\{mode="ipvs"\} 1$/m);
    assert.doesNotMatch(metrics, /partial_proxy_rules/);
    assert.equal(await run.end(), 0);
  }));

Deno.test("nftables' table of before stands aside once ipvs mode serves", async () => {
  const kernel = ipvsKernel();
  const table = { family: "ip", name: "kube-proxy" } as const;
  await kernel.tables.commit(table, [{ kind: "add-table" }]);
  await withManifests({ args, kernel }, async (run) => {
    await run.said("In sync");
    await run.said("Disabled the rules of another proxy mode");
    assert.equal((await kernel.tables.listTable(table))?.isDormant, true);
  });
});

Deno.test("node ports answer on the node's addresses, and on none of a Service", async () => {
  await inFolder(async (folder) => {
    await writeManifests(folder, [
      serviceObject("web", "172.30.0.10", {
        type: "NodePort",
        ports: [{ port: 80, nodePort: 30001 }],
      }),
      sliceObject("web", "10.128.0.1"),
    ]);
    const kernel = ipvsKernel();
    await using run = new ProxyRun({
      args: ["--proxy-mode=ipvs", `--manifests=${folder}`],
      kernel,
    });
    await run.said("In sync");
    kernel.links.setAddresses([...kernel.links.addresses(), fakeAddress("192.168.0.3")]);
    const servers = () =>
      kernel.ipvs.read().map(({ server }) => `${server.address}:${server.port}`);
    await run.until("the new address", () => servers().length === 3);
    assert.deepEqual(servers().sort(), [
      "172.30.0.10:80",
      "192.168.0.2:30001",
      "192.168.0.3:30001",
    ]);
    assert.equal(await run.end(), 0);
  });
});

Deno.test("a node without IPVS ends the start with the way out", () =>
  withManifests({
    args,
    kernel: ipvsKernel(new FakeIpvs({ isLoaded: false, isInstalled: false })),
  }, async (run) => {
    assert.equal(await run.ended(), 1);
    assert.match(run.stderr, /the kernel module \\"ip_vs\\" is not loaded.*modprobe ip_vs/);
  }));

Deno.test("other modes say nothing of the kind", () =>
  withManifests({}, async (run) => {
    await run.said("In sync");
    const metrics = await (await fetch(`http://${run.address}:10249/metrics`)).text();
    assert.doesNotMatch(metrics, /deprecated_mode/);
  }));
