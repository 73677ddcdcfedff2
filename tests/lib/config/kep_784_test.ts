/** Every row of the five tables of KEP-784, by the name of the row. */
import assert from "node:assert/strict";
import { conversionText, convertText } from "../../../lib/config/convert/convert.ts";
import { valueAt } from "../../../lib/config/tables.ts";
import { configurationOf, problemsOf, v1, v2 } from "./loading.ts";

function converted(text: string): string {
  const start = { source: "c.yaml", line: 1, column: 1 };
  const result = convertText({ text, start }, { to: "v1alpha2", adoptNewDefaults: false });
  assert.equal(result.kind, "converted");
  return result.kind === "converted" ? conversionText(result.conversion) : "";
}

/** Sections that were added. */
const sections = [
  { row: "Linux", body: "linux: {oomScoreAdj: 7}\n", place: "linux.oomScoreAdj", value: 7 },
  {
    row: "Windows",
    body: "windows: {runAsService: true}\n",
    place: "windows.runAsService",
    value: true,
  },
];

/** Fields that moved, as the old version and the new one say them. */
const moved = [
  {
    row: "Conntrack",
    before: "conntrack: {min: 9}\n",
    after: "linux: {conntrack: {min: 9}}\n",
    place: "linux.conntrack.min",
    value: 9,
  },
  {
    row: "OOMScoreAdj",
    before: "oomScoreAdj: 7\n",
    after: "linux: {oomScoreAdj: 7}\n",
    place: "linux.oomScoreAdj",
    value: 7,
  },
  {
    row: "IPTables.MasqueradeAll",
    before: "iptables: {masqueradeAll: true}\n",
    after: "linux: {masqueradeAll: true}\n",
    place: "linux.masqueradeAll",
    value: true,
  },
  {
    row: "NFTables.MasqueradeAll",
    before: "mode: nftables\nnftables: {masqueradeAll: true}\n",
    after: "mode: nftables\nlinux: {masqueradeAll: true}\n",
    place: "linux.masqueradeAll",
    value: true,
  },
  {
    row: "IPTables.SyncPeriod",
    before: "iptables: {syncPeriod: 11s}\n",
    after: "syncPeriod: 11s\n",
    place: "syncPeriodMs",
    value: 11_000,
  },
  {
    row: "NFTables.SyncPeriod",
    before: "mode: nftables\nnftables: {syncPeriod: 11s}\n",
    after: "mode: nftables\nsyncPeriod: 11s\n",
    place: "syncPeriodMs",
    value: 11_000,
  },
  {
    row: "IPVS.SyncPeriod",
    before: "mode: ipvs\nipvs: {syncPeriod: 11s}\n",
    after: "mode: ipvs\nsyncPeriod: 11s\n",
    place: "syncPeriodMs",
    value: 11_000,
  },
  {
    row: "IPTables.MinSyncPeriod",
    before: "iptables: {minSyncPeriod: 3s}\n",
    after: "minSyncPeriod: 3s\n",
    place: "minSyncPeriodMs",
    value: 3_000,
  },
  {
    row: "NFTables.MinSyncPeriod",
    before: "mode: nftables\nnftables: {minSyncPeriod: 3s}\n",
    after: "mode: nftables\nminSyncPeriod: 3s\n",
    place: "minSyncPeriodMs",
    value: 3_000,
  },
  {
    row: "IPVS.MinSyncPeriod",
    before: "mode: ipvs\nipvs: {minSyncPeriod: 3s}\n",
    after: "mode: ipvs\nminSyncPeriod: 3s\n",
    place: "minSyncPeriodMs",
    value: 3_000,
  },
  {
    row: "ClusterCIDR (changed)",
    before: 'clusterCIDR: "10.128.0.0/14,fd00:10:128::/48"\n',
    after: "detectLocal: {clusterCIDRs: [10.128.0.0/14, fd00:10:128::/48]}\n",
    place: "detectLocal.clusterCIDRs",
    value: ["10.128.0.0/14", "fd00:10:128::/48"],
  },
];

/** Fields that were added, with their default and another value. */
const added = [
  {
    row: "IPVS.MasqueradeBit",
    place: "ipvs.masqueradeBit",
    initial: 14,
    body: "ipvs: {masqueradeBit: 3}\n",
    value: 3,
  },
  {
    row: "Windows.RunAsService",
    place: "windows.runAsService",
    initial: false,
    body: "windows: {runAsService: true}\n",
    value: true,
  },
  {
    row: "ConfigHardFail",
    place: "configHardFail",
    initial: true,
    body: "configHardFail: false\n",
    value: false,
  },
  {
    row: "NodeIPOverride",
    place: "nodeIPOverride",
    initial: [],
    body: "nodeIPOverride: [192.168.0.2, fd00:192:168::2]\n",
    value: ["192.168.0.2", "fd00:192:168::2"],
  },
  {
    row: "IPFamilyPolicy",
    place: "ipFamilyPolicy",
    initial: "PreferDualStack",
    body: "ipFamilyPolicy: RequireDualStack\n",
    value: "RequireDualStack",
  },
];

/** Defaults that changed. */
const defaults = [
  {
    row: "IPTables.LocalhostNodePorts",
    place: "iptables.localhostNodePorts",
    before: true,
    after: false,
  },
  { row: "BindAddressHardFail", place: "bindAddressHardFail", before: false, after: true },
];

/** Fields that were dropped. */
const dropped = [
  { row: "PortRange", field: "portRange", value: "1000-2000" },
  { row: "BindAddress", field: "bindAddress", value: "192.168.0.2" },
];

Deno.test("KEP-784: sections that are added", async (t) => {
  for (const { row, body, place, value } of sections) {
    await t.step(row, () => {
      assert.deepEqual(valueAt(configurationOf({ "c.yaml": v2(body) }), place), value);
      assert.notDeepEqual(problemsOf({ "c.yaml": v1(body) }), []);
    });
  }
});

Deno.test("KEP-784: fields that move or change", async (t) => {
  for (const { row, before, after, place, value } of moved) {
    await t.step(row, () => {
      assert.deepEqual(valueAt(configurationOf({ "c.yaml": v1(before) }), place), value);
      assert.deepEqual(valueAt(configurationOf({ "c.yaml": v2(after) }), place), value);
      const text = converted(v1(before));
      assert.deepEqual(valueAt(configurationOf({ "c.yaml": text }), place), value, text);
      // The new version does not know the old place.
      assert.match(problemsOf({ "c.yaml": v2(before) }).join("\n"), /unknown field/);
    });
  }
});

Deno.test("KEP-784: fields that are added", async (t) => {
  for (const { row, place, initial, body, value } of added) {
    await t.step(row, () => {
      assert.deepEqual(valueAt(configurationOf({ "c.yaml": v2("") }), place), initial);
      assert.deepEqual(valueAt(configurationOf({ "c.yaml": v2(body) }), place), value);
      assert.match(problemsOf({ "c.yaml": v1(body) }).join("\n"), /unknown field/);
    });
  }
});

Deno.test("KEP-784: IPFamilyPolicy takes its three values and no other", () => {
  for (const policy of ["SingleStack", "PreferDualStack", "RequireDualStack"]) {
    assert.deepEqual(problemsOf({ "c.yaml": v2(`ipFamilyPolicy: ${policy}\n`) }), []);
  }
  assert.deepEqual(problemsOf({ "c.yaml": v2("ipFamilyPolicy: DualStack\n") }), [
    "c.yaml:3:17: ipFamilyPolicy: must be one of SingleStack, PreferDualStack, RequireDualStack, " +
    'not "DualStack"',
  ]);
});

Deno.test("KEP-784: defaults that change", async (t) => {
  for (const { row, place, before, after } of defaults) {
    await t.step(row, () => {
      assert.equal(valueAt(configurationOf({ "c.yaml": v1("") }), place), before);
      assert.equal(valueAt(configurationOf({ "c.yaml": v2("") }), place), after);
      // Converting keeps behaviour, not defaults.
      assert.equal(valueAt(configurationOf({ "c.yaml": converted(v1("")) }), place), before);
    });
  }
});

Deno.test("KEP-784: fields that are dropped", async (t) => {
  for (const { row, field, value } of dropped) {
    await t.step(row, () => {
      assert.deepEqual(problemsOf({ "c.yaml": v1(`${field}: ${value}\n`) }), []);
      assert.match(problemsOf({ "c.yaml": v2(`${field}: ${value}\n`) })[0], /unknown field/);
      assert.ok(!converted(v1(`${field}: ${value}\n`)).includes(`${field}:`));
    });
  }
});
