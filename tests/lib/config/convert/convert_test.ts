import assert from "node:assert/strict";
import {
  conversionText,
  convertText,
  splitConversion,
} from "../../../../lib/config/convert/convert.ts";
import type { ConfigVersion } from "../../../../lib/config/documents.ts";
import { describeProblem } from "../../../../lib/config/problem.ts";
import { configurationOf, v1, v2 } from "../loading.ts";

function convert(text: string, options: { to?: ConfigVersion; adoptNewDefaults?: boolean } = {}) {
  const start = { source: "c.yaml", line: 1, column: 1 };
  const { to, adoptNewDefaults = true } = options;
  const result = convertText({ text, start }, { to, adoptNewDefaults });
  if (result.kind === "refused") throw new Error(result.problems.map(describeProblem).join("\n"));
  const lines = result.conversion.steps.map(({ kind, from, to, value }) =>
    `${kind} ${from}>${to} ${value}`
  );
  return { conversion: result.conversion, text: conversionText(result.conversion), lines };
}

/** The body of a result without header, version and kind. */
function body(text: string): string {
  return text.replace(/^# Served.*\n\n/, "").replace(/^(apiVersion|kind): .*\n/gm, "");
}

const fromV1: { name: string; before: string; after: string; lines?: string[] }[] = [
  {
    name: "order, spelling and comments stay",
    before: "# a\nmode: 'nftables' # b\n\n# c\noomScoreAdj: 0x10 # d\nenableProfiling: yes\n",
    after:
      "# a\nmode: 'nftables' # b\n\nlinux:\n  # c\n  oomScoreAdj: 0x10 # d\nenableProfiling: yes\n",
  },
  {
    name: "aliases and merge keys become what they stand for",
    before: "iptables: &x {syncPeriod: 10s}\nnftables:\n  <<: *x\nmode: nftables\n",
    after: "syncPeriod: 10s\nmode: nftables\n",
  },
  {
    name: "of equal fields the last counts",
    before: "oomScoreAdj: 1\noomScoreAdj: 2\n",
    after: "linux:\n  oomScoreAdj: 2\n",
  },
  {
    name: "unknown fields go",
    before: "modes: x\nmode: ipvs\n",
    after: "mode: ipvs\n",
    lines: ["kept mode>mode ipvs", "dropped modes> "],
  },
  {
    name: "the mark bit of two modes",
    before: "iptables:\n  masqueradeBit: 3\n",
    after:
      "iptables:\n  masqueradeBit: 3\nipvs:\n  # the mode has a field of its own now\n  masqueradeBit: 3\n",
    lines: [
      "kept iptables.masqueradeBit>iptables.masqueradeBit 3",
      "moved iptables.masqueradeBit>ipvs.masqueradeBit 3",
    ],
  },
  {
    name: "a period of another mode is lost",
    before: "mode: nftables\niptables: {syncPeriod: 11s}\n",
    after: "mode: nftables\n",
    lines: ["kept mode>mode nftables", "lost iptables.syncPeriod> 11s"],
  },
  {
    name: "a broken value of another mode is lost",
    before: "mode: nftables\nipvs: {excludeCIDRs: [x]}\n",
    after: "mode: nftables\n",
    lines: ["kept mode>mode nftables", 'lost ipvs.excludeCIDRs> ["x"]'],
  },
  {
    name: "an address that stands for all of its family",
    before: "bindAddress: '::'\n",
    after: "# the default of v1alpha1 follows the family of bindAddress\n" +
      "healthzBindAddress: '[::]:10256'\n" +
      "# the default of v1alpha1 follows the family of bindAddress\n" +
      "metricsBindAddress: '[::1]:10249'\n",
  },
  {
    name: "the address of the node",
    before: "bindAddress: 192.168.0.2 # primary\n",
    after: "# primary\nnodeIPOverride:\n- 192.168.0.2\n",
  },
];

Deno.test("convertText() to v1alpha2", async (t) => {
  for (const { name, before, after, lines } of fromV1) {
    await t.step(name, () => {
      const result = convert(v1(before));
      assert.equal(body(result.text), after);
      const own = result.lines.filter((line) => !/HardFail|localhostNodePorts/.test(line));
      if (lines) assert.deepEqual(own, lines);
    });
  }
});

const fromV2: { name: string; before: string; after: string; lost: string[] }[] = [
  {
    name: "documents of modes and instances become one",
    before: `${v2("# a\nmode: nftables\n")}---\n# b\n${
      v2("# c\nmasqueradeBit: 3\n", "KubeProxyNFTablesConfiguration")
    }---\n${v2("mode: iptables\nhostnameOverride: x # d\n", "KubeProxyInstanceConfiguration")}`,
    after: "# b\nnftables:\n  # c\n  masqueradeBit: 3\nmode: iptables\nhostnameOverride: x # d\n",
    lost: ["lost configHardFail> true"],
  },
  {
    name: "what v1alpha1 has no word for",
    before: "configHardFail: false\nipFamilyPolicy: SingleStack\niptables: {backend: nft}\n" +
      "nodeIPOverride: [192.168.0.2, fd00:192:168::2]\nminSyncPeriod: 0s\nipvs: {masqueradeBit: 3}\n",
    after: "bindAddress: 192.168.0.2\n",
    lost: [
      "lost ipFamilyPolicy> SingleStack",
      "lost iptables.backend> nft",
      "lost nodeIPOverride[1]> fd00:192:168::2",
      "lost minSyncPeriod> 0s",
      "lost ipvs.masqueradeBit> 3",
    ],
  },
  {
    name: "ipvs has the mark bit of iptables, and zero is its minimum",
    before: "configHardFail: false\nmode: ipvs\nipvs: {masqueradeBit: 3}\nminSyncPeriod: 0s\n",
    after: "mode: ipvs\niptables:\n  masqueradeBit: 3\nipvs:\n  minSyncPeriod: 0s\n",
    lost: [],
  },
  {
    name: "null is the default of v1alpha2",
    before: "configHardFail: false\nbindAddressHardFail: null\nmode: ipvs\n",
    after: "mode: ipvs\n",
    lost: [],
  },
];

Deno.test("convertText() to v1alpha1", async (t) => {
  for (const { name, before, after, lost } of fromV2) {
    await t.step(name, () => {
      const text = before.includes("apiVersion") ? before : v2(before);
      const result = convert(text, { to: "v1alpha1" });
      const own = body(result.text)
        .replace(/ *# the default of v1alpha2.*\n/g, "")
        .replace(/ *(bindAddressHardFail|localhostNodePorts): .*\n/g, "")
        .replace(/^iptables:\n(?! )/gm, "");
      assert.equal(own, after);
      assert.deepEqual(result.lines.filter((line) => line.startsWith("lost")), lost);
    });
  }
});

Deno.test("JSON is converted too", () => {
  const text =
    '{"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",\n' +
    ' "mode": "ipvs", "oomScoreAdj": 5}\n';
  assert.equal(configurationOf({ "a.yaml": convert(text).text }).linux.oomScoreAdj, 5);
});

Deno.test("splitConversion() gives files that mean the same together", () => {
  const before = v1("mode: ipvs\nipvs: {scheduler: wrr}\nhostnameOverride: x\noomScoreAdj: 5\n");
  const whole = convert(before, { adoptNewDefaults: false });
  const expected = configurationOf({ "a.yaml": whole.text });
  const files = splitConversion(whole.conversion);
  assert.deepEqual(files.map(({ name }) => name), [
    "kube-proxy.yaml",
    "instance.yaml",
    "iptables.yaml",
    "ipvs.yaml",
  ]);
  const texts = Object.fromEntries(files.map(({ name, text }) => [name, text]));
  assert.deepEqual(configurationOf(texts), expected);
});

Deno.test("convertText() says at the top whose version that is, once", () => {
  const header = /^# Served by this kube-proxy, not by upstream's: .*\n\n/;
  const once = convert(v1("mode: nftables\n")).text;
  assert.match(once, header);
  const again = convert(once, { to: "v1alpha2" }).text;
  assert.equal(again.split("# Served by").length, 2);
  assert.match(again, header);
});
