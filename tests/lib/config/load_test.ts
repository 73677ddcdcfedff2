import assert from "node:assert/strict";
import { configurationOf, loadFiles, problemsOf, v1, v2 } from "./loading.ts";

const instance = (body: string) => v2(body, "KubeProxyInstanceConfiguration");
const nftables = (body: string) => v2(body, "KubeProxyNFTablesConfiguration");

const documents: [string, string, string][] = [
  [
    "iptables",
    "KubeProxyIPTablesConfiguration",
    "masqueradeBit: 3\nlocalhostNodePorts: true\nbackend: nft\n",
  ],
  ["ipvs", "KubeProxyIPVSConfiguration", "masqueradeBit: 3\nscheduler: wrr\ntcpTimeout: 5s\n"],
  ["nftables", "KubeProxyNFTablesConfiguration", "masqueradeBit: 3\n"],
  ["winkernel", "KubeProxyWinkernelConfiguration", "networkName: overlay\nenableDSR: true\n"],
];

Deno.test("a document of a mode and an inline section are the same configuration", async (t) => {
  for (const [section, kind, body] of documents) {
    await t.step(section, () => {
      const inline = v2(`${section}:\n${body.replace(/^/gm, "  ").trimEnd()}\n`);
      const asDocument = `${v2("")}---\n${v2(body, kind)}`;
      const expected = configurationOf({ "a.yaml": inline });
      assert.deepEqual(configurationOf({ "a.yaml": asDocument }), expected);
      assert.deepEqual(configurationOf({ "a.yaml": v2(""), "b.yaml": v2(body, kind) }), expected);
    });
  }
});

Deno.test("an instance overrides exactly its fields", () => {
  const shared = v2(
    "mode: nftables\nhostnameOverride: a\nhealthzBindAddress: 192.168.0.1:1\noomScoreAdj: 1\n",
  )
    .replace("oomScoreAdj: 1\n", "linux: {oomScoreAdj: 1}\n");
  const own = instance(
    "mode: ipvs\nhostnameOverride: b\nnodeIPOverride: [192.168.0.7]\n" +
      "healthzBindAddress: 192.168.0.7:1\nmetricsBindAddress: 192.168.0.7:2\n",
  );
  const both = configurationOf({ "shared.yaml": shared, "instance.yaml": own });
  assert.deepEqual(both, {
    ...configurationOf({ "shared.yaml": shared }),
    mode: "ipvs",
    hostnameOverride: "b",
    nodeIPOverride: ["192.168.0.7"],
    healthzBindAddress: "192.168.0.7:1",
    metricsBindAddress: "192.168.0.7:2",
  });
  assert.deepEqual(configurationOf({ "instance.yaml": own, "shared.yaml": shared }), both);
});

Deno.test("an instance beside v1alpha1 chooses the mode whose section counts", () => {
  const shared = v1(
    "iptables: {syncPeriod: 11s}\nnftables: {syncPeriod: 12s}\nbindAddress: 192.168.0.1\n",
  );
  const own = instance("mode: nftables\nnodeIPOverride: [192.168.0.7]\n");
  const both = configurationOf({ "a.yaml": shared, "b.yaml": own });
  assert.equal(both.syncPeriodMs, 12_000);
  assert.deepEqual(both.nodeIPOverride, ["192.168.0.7"]);
});

Deno.test("addresses follow the family of the node's address", () => {
  const ours = configurationOf({ "a.yaml": v2("nodeIPOverride: [fd00:192:168::2]\n") });
  assert.equal(ours.healthzBindAddress, "[::]:10256");
  assert.equal(ours.metricsBindAddress, "[::1]:10249");
});

Deno.test("minSyncPeriod: v1alpha1 cannot say zero, v1alpha2 can", () => {
  const minimum = (text: string) => configurationOf({ "a.yaml": text }).minSyncPeriodMs;
  assert.equal(minimum(v1("")), undefined);
  assert.equal(minimum(v1("iptables: {minSyncPeriod: 0s}\n")), undefined);
  assert.equal(minimum(v1("iptables: {minSyncPeriod: 1s}\n")), 1_000);
  assert.equal(minimum(v2("")), undefined);
  assert.equal(minimum(v2("minSyncPeriod: 0s\n")), 0);
  assert.equal(minimum(v2("minSyncPeriod: null\n")), undefined);
});

/** What must not stand together: both places are named. */
const refusals: { name: string; files: Record<string, string>; expected: string[] }[] = [
  {
    name: "one field in two files",
    files: { "a.yaml": v2("syncPeriod: 10s\n"), "b.yaml": v2("syncPeriod: 10s\n") },
    expected: ["b.yaml:3:1: syncPeriod: is given twice, first at a.yaml:3:1"],
  },
  {
    name: "a section inline and as a document",
    files: { "a.yaml": v2("nftables: {masqueradeBit: 3}\n"), "b.yaml": nftables("") },
    expected: [
      'a.yaml:3:1: nftables: the section "nftables" is given as a document, at b.yaml:2:7, and here too',
    ],
  },
  {
    name: "two documents of one kind in a file",
    files: { "a.yaml": `${v2("")}---\n${v2("")}` },
    expected: ["a.yaml:5:7: a second KubeProxyConfiguration, the first is at a.yaml:2:7"],
  },
  {
    name: "two versions",
    files: { "a.yaml": v1(""), "b.yaml": v2("") },
    expected: [
      "b.yaml:2:7: KubeProxyConfiguration cannot stand beside the v1alpha1 configuration at " +
      "a.yaml:2:7; only a KubeProxyInstanceConfiguration can",
    ],
  },
  {
    name: "v1alpha1 and the document of a mode",
    files: { "a.yaml": v1(""), "b.yaml": nftables("") },
    expected: [
      "b.yaml:2:7: KubeProxyNFTablesConfiguration cannot stand beside the v1alpha1 configuration " +
      "at a.yaml:2:7; only a KubeProxyInstanceConfiguration can",
    ],
  },
  {
    name: "a shared field in an instance",
    files: { "a.yaml": v2(""), "b.yaml": instance("syncPeriod: 10s\n") },
    expected: [
      "b.yaml:3:1: syncPeriod: belongs to the KubeProxyConfiguration; an instance holds only " +
      "hostnameOverride, nodeIPOverride, healthzBindAddress, metricsBindAddress, mode",
    ],
  },
  {
    name: "an instance alone",
    files: { "b.yaml": instance("mode: ipvs\n") },
    expected: ["b.yaml:2:7: there is no KubeProxyConfiguration beside this"],
  },
  {
    name: "a mode whose gate is off",
    files: { "a.yaml": v2("mode: ipvs\nfeatureGates: {KubeProxyIPVS: false}\n") },
    expected: [
      "a.yaml:3:7: mode: must be one of iptables, nftables or blank while the gate KubeProxyIPVS " +
      'is off, not "ipvs" (KubeProxyConfiguration.Mode.ProxyMode)',
      "warning: a.yaml:4:16: featureGates.KubeProxyIPVS: sets a deprecated feature gate, which a " +
      "future release will not have (KubeProxyConfiguration.featureGates)",
    ],
  },
  {
    name: "a broken value in the section of a mode that is not selected",
    files: { "a.yaml": v2("mode: nftables\nipvs: {excludeCIDRs: [x]}\n") },
    expected: [
      'a.yaml:4:23: ipvs.excludeCIDRs[0]: must be a valid CIDR, not "x" ' +
      "(KubeProxyConfiguration.KubeProxyIPVSConfiguration.ExcludeCidrs[0])",
    ],
  },
];

Deno.test("loadConfiguration() refuses what contradicts itself, naming both places", async (t) => {
  for (const { name, files, expected } of refusals) {
    await t.step(name, () => {
      assert.deepEqual(problemsOf(files), expected);
      assert.equal(loadFiles(files).loaded, undefined);
    });
  }
});

Deno.test("leniency is for unknown and duplicate fields, never for values", () => {
  const unknown = "modes: x\n", twice = "enableProfiling: true\nenableProfiling: false\n";
  const lenient = "configHardFail: false\n";
  assert.deepEqual(problemsOf({ "a.yaml": v1(unknown + twice) }), [
    'warning: a.yaml:3:1: modes: unknown field; did you mean "mode"?',
    "warning: a.yaml:5:1: enableProfiling: is given twice, first at a.yaml:4:1",
  ]);
  assert.equal(loadFiles({ "a.yaml": v1(unknown) }, { strict: true }).loaded, undefined);
  assert.equal(loadFiles({ "a.yaml": v2(unknown) }).loaded, undefined);
  assert.ok(loadFiles({ "a.yaml": v2(lenient + unknown + twice) }).loaded);
  assert.equal(loadFiles({ "a.yaml": v2(`${lenient}syncPeriod: 0s\n`) }).loaded, undefined);
});

Deno.test("further documents of a v1alpha1 file are named and ignored", () => {
  const text = `${v1("oomScoreAdj: 1\n")}---\n${v2("")}---\nnot: [closed\n`;
  const problems = problemsOf({ "a.yaml": text });
  assert.equal(problems.length, 2);
  assert.match(problems[0], /^warning: a.yaml:5:1: of a v1alpha1 file only the first document/);
  assert.equal(configurationOf({ "a.yaml": text }).linux.oomScoreAdj, 1);
  assert.equal(loadFiles({ "a.yaml": text }, { strict: true }).loaded, undefined);
});

Deno.test("an address without a port gets the usual one, and what is no address is refused as it stands", () => {
  const address = (text: string) =>
    configurationOf({ "a.yaml": v1(`healthzBindAddress: "${text}"\n`) }).healthzBindAddress;
  assert.equal(address("192.168.0.1"), "192.168.0.1:10256");
  assert.equal(address("192.168.0.1:1"), "192.168.0.1:1");
  assert.equal(address("fd00::1"), "[fd00::1]:10256");
  const [problem] = problemsOf({ "a.yaml": v1("healthzBindAddress: here\n") });
  assert.match(problem, /healthzBindAddress: .*"here"/);
  assert.doesNotMatch(problem, /here:10256/);
});

Deno.test("documents of modes and instances alone are a configuration of v1alpha2, where they may be", () => {
  const files = {
    "mode.yaml": nftables("masqueradeBit: 3\n"),
    "instance.yaml": instance("hostnameOverride: node-a\n"),
  };
  assert.equal(loadFiles(files).loaded, undefined);
  const { loaded, problems } = loadFiles(files, { partial: true });
  assert.deepEqual(problems, []);
  assert.equal(loaded?.version, "v1alpha2");
});
