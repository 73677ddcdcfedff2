/** A proxy of files: which ones it takes, and whose node it thinks it is on. */
import assert from "node:assert/strict";
import { fakeAddress, FakeLinks } from "../../../lib/kernel/links/fake_links.ts";
import {
  nodeKernel,
  nodeObject,
  ProxyRun,
  serviceObject,
  sliceObject,
  withManifests,
  writeManifests,
} from "./proxy_rig.ts";

Deno.test("a proxy of files without this node's Node serves node ports on the host's own addresses, and says so", () =>
  withManifests({}, async (run, folder) => {
    await run.said("In sync");
    assert.match(
      run.stderr,
      /"Taking the addresses of this node from its interfaces: no Node tells them" node="node-a" addresses="192\.168\.0\.2,fd00:192:168::2"/,
    );
    assert.deepEqual(run.complaints, []);
    await writeManifests(folder, [
      serviceObject("cart", "172.30.0.11", {
        type: "NodePort",
        ports: [{ port: 80, protocol: "TCP", nodePort: 30080 }],
      }),
      sliceObject("cart", "10.128.0.2"),
    ]);
    await run.until("the node's address in the rules", () => {
      const written = run.kernel.tables.commits.map(({ operations }) => operations);
      return JSON.stringify(written).includes("192.168.0.2");
    });
  }));

Deno.test("Nodes in the files of which none is this one are a warning with the flag that helps", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kpt-run-" });
  try {
    await writeManifests(folder, [
      { ...nodeObject(), metadata: { name: "shop-node" } },
      serviceObject("web", "172.30.0.10"),
    ]);
    await using run = new ProxyRun({ args: [`--manifests=${folder}`, "--once"] });
    assert.equal(await run.ended(), 0);
    assert.equal(run.complaints.length, 1);
    assert.match(
      run.complaints[0],
      /No Node is called \\"node-a\\".*give --hostname-override=shop-node where it is \\"shop-node\\"/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("--manifests is given several times", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kpt-run-" });
  try {
    await writeManifests(folder, [
      serviceObject("a", "172.30.0.10"),
      serviceObject("b", "172.30.0.11"),
    ]);
    const paths = ["service-a.json", "service-b.json"].map((name) => `${folder}/${name}`);
    const args = paths.map((path) => `--manifests=${path}`);
    await using run = new ProxyRun({ args: [...args, "--once"] });
    assert.equal(await run.ended(), 0);
    assert.deepEqual(await run.clusterIPs(), ["172.30.0.10", "172.30.0.11"]);
    assert.ok(run.stderr.includes(`source="manifests from ${paths.join(", ")}"`));
    await Deno.writeTextFile(paths[1], "kind: [");
    await using broken = new ProxyRun({ args: [...args, "--once"] });
    assert.equal(await broken.ended(), 1);
    assert.match(
      broken.stderr,
      /Cannot use the manifests .*service-a.json\\", .*service-b.json\\": 1 of 2/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a host without any address says that it has none yet, and takes the first one that comes", () => {
  const kernel = nodeKernel({ links: new FakeLinks() });
  return withManifests({ kernel }, async (run, folder) => {
    await run.said("No Node tells this node's addresses, and its interfaces have none yet");
    await run.said("In sync");
    await writeManifests(folder, [
      serviceObject("web", "172.30.0.10", {
        type: "NodePort",
        ports: [{ port: 80, protocol: "TCP", nodePort: 30080 }],
      }),
    ]);
    kernel.links.setAddresses([fakeAddress("192.168.0.9")]);
    await run.until("the node's address in the rules", () => {
      const written = kernel.tables.commits.map(({ operations }) => operations);
      return JSON.stringify(written).includes("192.168.0.9");
    });
  });
});

Deno.test("an empty directory of manifests is said, and its first file is served", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kpt-run-" });
  try {
    await using run = new ProxyRun({ args: [`--manifests=${folder}`] });
    await run.said("There is no .yaml, .yml or .json file in the directory of manifests yet");
    await run.said("In sync");
    await writeManifests(folder, [serviceObject("web", "172.30.0.10")]);
    await run.until("the Service", async () => (await run.clusterIPs()).length > 0);
    assert.equal(await run.end(), 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
