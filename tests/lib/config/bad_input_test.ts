import assert from "node:assert/strict";
import { cpuUsage } from "node:process";
import process from "node:process";
import { decodeText } from "../../../lib/base/yaml.ts";
import { conversionText, convertText } from "../../../lib/config/convert/convert.ts";
import { problemsOf, v1, v2 } from "./loading.ts";

/** Each is one clear sentence with its place. */
const files: { name: string; content: string | Uint8Array; expected: string | RegExp }[] = [
  {
    name: "an empty file",
    content: "",
    expected: "a.yaml:1:1: there is no configuration here; it needs apiVersion and kind",
  },
  {
    name: "comments alone",
    content: "# nothing\n",
    expected: "a.yaml:1:1: there is no configuration here; it needs apiVersion and kind",
  },
  {
    name: "a binary file",
    content: Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0),
    expected: "a.yaml:1:1: this is no text: it holds the byte 0x7f",
  },
  {
    name: "text that is no UTF-8",
    content: Uint8Array.of(0x61, 0x3a, 0x0a, 0x62, 0xe9, 0x0a),
    expected: "a.yaml:2:2: this is no UTF-8 text",
  },
  {
    name: "deep nesting in brackets",
    content: "[".repeat(1 << 20),
    expected: "a.yaml:1:65: this is nested more than 64 levels deep",
  },
  {
    name: "deep nesting in dashes",
    content: `${"- ".repeat(1_000)}x`,
    expected: /^a.yaml:1:\d+: this is nested more than 64 levels deep$/,
  },
  {
    name: "aliases that explode",
    content: v2(
      `a: &a [${"x,".repeat(9)}]\nb: &b [${"*a,".repeat(60)}]\nc: &c [${"*b,".repeat(60)}]\nd: [${
        "*c,".repeat(60)
      }]\n`,
    ),
    expected: /grows beyond 20000 values$/,
  },
  {
    name: "an alias inside itself",
    content: v2("iptables: &a\n  masqueradeBit: *a\n"),
    expected: "a.yaml:4:18: the alias *a stands inside what it names",
  },
  {
    name: "a megabyte of fields",
    content: "a: 1\n".repeat(200_000),
    expected: /there is more in this text than 20000 pieces$/,
  },
  {
    name: "a list",
    content: "- a\n",
    expected: "a.yaml:1:1: a configuration must be a mapping of fields",
  },
  {
    name: "no kind",
    content: "apiVersion: kubeproxy.config.k8s.io/v1alpha2\n",
    expected: "a.yaml:1:1: kind: kind is missing",
  },
  {
    name: "a misspelt kind",
    content: v2("", "KubeProxyConfigration"),
    expected:
      'a.yaml:2:7: kind: unknown kind "KubeProxyConfigration" of v1alpha2; did you mean "KubeProxyConfiguration"?',
  },
  {
    name: "a kind of the other version",
    content: v2("", "KubeProxyNFTablesConfiguration").replace("v1alpha2", "v1alpha1"),
    expected:
      'a.yaml:2:7: kind: unknown kind "KubeProxyNFTablesConfiguration" of v1alpha1; KubeProxyNFTablesConfiguration is of v1alpha2',
  },
  {
    name: "an unknown version",
    content: v2("").replace("v1alpha2", "v1beta1"),
    expected: 'a.yaml:1:13: apiVersion: unknown version "v1beta1"; known are v1alpha1 and v1alpha2',
  },
  {
    name: "another group",
    content: "apiVersion: apps/v1\nkind: DaemonSet\n",
    expected:
      'a.yaml:1:13: apiVersion: unknown group, not "apps/v1"; use kubeproxy.config.k8s.io/v1alpha2',
  },
  {
    name: "broken syntax",
    content: v2("iptables: {masqueradeBit: 3\n"),
    expected: /^a.yaml:\d+:\d+: flow map/,
  },
  {
    name: "tabs for indentation",
    content: v2("iptables:\n\tmasqueradeBit: 3\n"),
    expected: "a.yaml:4:1: tabs are not allowed as indentation",
  },
];

Deno.test("a file that is no configuration gives one sentence with its place", async (t) => {
  for (const { name, content, expected } of files) {
    await t.step(name, () => {
      const begin = process.cpuUsage();
      const problems = problemsOf({ "a.yaml": content });
      const { user, system } = process.cpuUsage(begin);
      assert.ok(user + system < 1_000_000, `this took ${user + system} microseconds`);
      assert.equal(problems.length, 1, problems.join("\n"));
      if (typeof expected === "string") assert.equal(problems[0], expected);
      else assert.match(problems[0], expected);
    });
  }
});

/** Fields, each with what is said about it. */
const fields: { name: string; text: string; expected: string }[] = [
  {
    name: "a misspelt field",
    text: v2("syncPeroid: 10s\n"),
    expected: '3:1: syncPeroid: unknown field; did you mean "syncPeriod"?',
  },
  {
    name: "a field of the old version",
    text: v2("conntrack: {min: 1}\n"),
    expected: '3:1: conntrack: unknown field; did you mean "linux.conntrack"?',
  },
  {
    name: "a field that nothing resembles",
    text: v2("xyz: 1\n"),
    expected: "3:1: xyz: unknown field",
  },
  {
    name: "a misspelt field of a list's item",
    text: v2("logging: {vmodule: [{filePattern: a, verbsity: 1}]}\n"),
    expected: '3:38: logging.vmodule[0].verbsity: unknown field; did you mean "verbosity"?',
  },
  {
    name: "a field given twice",
    text: v2("mode: ipvs\nmode: ipvs\n"),
    expected: "4:1: mode: is given twice, first at a.yaml:3:1",
  },
  {
    name: "a gate given twice",
    text: v2("featureGates: {AllBeta: true, AllBeta: true}\n"),
    expected: "3:31: featureGates.AllBeta: is given twice, first at a.yaml:3:16",
  },
  {
    name: "text for a number",
    text: v2('linux: {oomScoreAdj: "5"}\n'),
    expected: '3:22: linux.oomScoreAdj: must be a whole number of at most 32 bits, not "5"',
  },
  {
    name: "a number for a duration",
    text: v2("syncPeriod: 30\n"),
    expected: '3:13: syncPeriod: must be a duration such as "30s" or "1h15m", not 30',
  },
  {
    name: "text for a list",
    text: v2("nodePortAddresses: all\n"),
    expected: '3:20: nodePortAddresses: must be a list of strings, not "all"',
  },
  {
    name: "a number in a list of strings",
    text: v2("nodePortAddresses: [all, 5]\n"),
    expected: "3:26: nodePortAddresses: must be a list of strings, not 5",
  },
  {
    name: "a list for a section",
    text: v2("linux: [a]\n"),
    expected: "3:8: linux: must be a mapping of fields, not a list",
  },
  {
    name: "an unknown gate",
    text: v2("featureGates: {NFTablesNetlnk: true}\n"),
    expected:
      '3:16: featureGates.NFTablesNetlnk: unrecognized feature gate: NFTablesNetlnk; did you mean "NFTablesNetlink"? (KubeProxyConfiguration.featureGates)',
  },
  {
    name: "a bit out of range",
    text: v2("nftables: {masqueradeBit: 32}\n"),
    expected:
      "3:27: nftables.masqueradeBit: must be within the range [0, 31], not 32 (KubeProxyConfiguration.KubeProxyNFTablesConfiguration.MasqueradeBit)",
  },
  {
    name: "a host name for an address",
    text: v2("healthzBindAddress: localhost:1\n"),
    expected:
      '3:21: healthzBindAddress: must be a valid IP, not "localhost" (KubeProxyConfiguration.HealthzBindAddress)',
  },
  {
    name: "a port out of range",
    text: v2("metricsBindAddress: 127.0.0.1:70000\n"),
    expected:
      '3:21: metricsBindAddress: must be a valid port, not "70000" (KubeProxyConfiguration.MetricsBindAddress)',
  },
  {
    name: "two addresses of one family",
    text: v2("nodeIPOverride: [192.168.0.1, 192.168.0.2]\n"),
    expected:
      '3:31: nodeIPOverride[1]: must be the only IPv4 address of the list, not "192.168.0.2" (KubeProxyConfiguration.BindAddress)',
  },
  {
    name: "two ranges of one family",
    text: v2("detectLocal: {clusterCIDRs: [10.128.0.0/14, 10.0.0.0/16]}\n"),
    expected:
      '3:29: detectLocal.clusterCIDRs: must be either a single CIDR or a pair of CIDRs of different families, not ["10.128.0.0/14","10.0.0.0/16"] (KubeProxyConfiguration.DetectLocalConfiguration.ClusterCIDRs)',
  },
  {
    name: "zero where v1alpha2 has no unset",
    text: v2("syncPeriod: 0s\n"),
    expected:
      "3:13: syncPeriod: must be greater than 0, not 0s (KubeProxyConfiguration.SyncPeriod)",
  },
  {
    name: "a minimum above the period",
    text: v2("minSyncPeriod: 40s\n"),
    expected:
      "3:16: minSyncPeriod: must be less than or equal to syncPeriod, 30s, not 40s (KubeProxyConfiguration.SyncPeriod)",
  },
  {
    name: "a mode of Windows",
    text: v2("mode: kernelspace\n"),
    expected:
      '3:7: mode: must be one of iptables, ipvs, nftables or blank on Linux, not "kernelspace" (KubeProxyConfiguration.Mode.ProxyMode)',
  },
  {
    name: "an unknown backend",
    text: v2("iptables: {backend: nftables}\n"),
    expected: '3:21: iptables.backend: must be one of auto, legacy, nft, not "nftables"',
  },
  {
    name: "a bridge that is missing",
    text: v1("detectLocalMode: BridgeInterface\n"),
    expected:
      "2:7: detectLocal.bridgeInterface: must not be empty with detectLocalMode BridgeInterface (KubeProxyConfiguration.DetectLocalConfiguration.InterfaceName)",
  },
];

Deno.test("a wrong field is told with place, path, value, rule and the nearest name", async (t) => {
  for (const { name, text, expected } of fields) {
    await t.step(
      name,
      () => assert.deepEqual(problemsOf({ "a.yaml": text }), [`a.yaml:${expected}`]),
    );
  }
});

Deno.test("all problems of a file are told at once, in its order", () => {
  const text = fields.slice(0, 1).concat(fields.filter(({ text }) => text.includes("v1alpha2")))
    .map(({ text }) => text.split("\n")[2]).filter((line) =>
      /^(syncPeroid|linux: \{|nodePortAddresses: all|healthz|metrics|xyz)/.test(line)
    );
  const problems = problemsOf({ "a.yaml": v2(`${[...new Set(text)].join("\n")}\n`) });
  assert.deepEqual(problems.map((line) => line.split(":")[1]), ["3", "4", "5", "6", "7", "8"]);
});

/** What fits into a file, and costs the square of its length when it is read without care. */
const costly: readonly { name: string; text: string }[] = [
  { name: "a duration of digits", text: v2(`syncPeriod: "${"1".repeat(1_000_000)}x"\n`) },
  { name: "a number of digits", text: v2(`syncPeriod: ${"1".repeat(1_000_000)}x\n`) },
  {
    name: "a quantity of digits",
    text: v2(`logging: {options: {json: {infoBufferSize: "${"1".repeat(1_000_000)}x"}}}\n`),
  },
  { name: "many aliases", text: v1(`mode: &a ""\nportRange: [${"*a, ".repeat(4_500)}]\n`) },
  { name: "many aliases that convert", text: v1(`mode: &a ""\nx: [${"*a, ".repeat(4_500)}]\n`) },
  { name: "brackets", text: v2("[".repeat(1_000_000)) },
  { name: "indentation", text: v2(`mode: ${"- ".repeat(500_000)}`) },
  { name: "equal keys", text: v2("mode: a\n".repeat(4_500)) },
  { name: "an address of colons", text: v2(`healthzBindAddress: "${":".repeat(1_000_000)}"\n`) },
];

Deno.test("no text within the limit of size takes long", async (t) => {
  for (const { name, text } of costly) {
    await t.step(name, () => {
      const { system, user } = cpuUsage();
      problemsOf({ "a.yaml": text });
      const start = { source: "a.yaml", line: 1, column: 1 };
      convertText({ text, start }, { to: undefined, adoptNewDefaults: false });
      const used = cpuUsage();
      const milliseconds = (used.system + used.user - system - user) / 1_000;
      // Twice the work of one command; what is meant to be caught takes a minute.
      assert.ok(milliseconds < 1_000, `${milliseconds} ms`);
    });
  }
});

Deno.test("a problem is one line of a length that people read, whatever the file holds", () => {
  for (const text of ["*", "!", "m"].map((sign) => v2(`${sign.repeat(900_000)}: 1\n`))) {
    for (const line of problemsOf({ "a.yaml": text })) assert.ok(line.length < 800, line);
  }
});

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Bytes flipped, lines cut or doubled, words exchanged: the same with the same seed. */
function mutated(text: string, random: () => number): string | Uint8Array {
  const pick = (size: number) => Math.floor(random() * size);
  const lines = text.split("\n");
  switch (pick(5)) {
    case 0: {
      const bytes = new TextEncoder().encode(text);
      for (let i = 0; i <= pick(4); i++) bytes[pick(bytes.length)] ^= 1 << pick(8);
      return bytes;
    }
    case 1:
      return lines.toSpliced(pick(lines.length), 1 + pick(3)).join("\n");
    case 2:
      return text.slice(0, pick(text.length));
    case 3: {
      const values = [
        "[]",
        "{}",
        "null",
        "-1",
        '"x"',
        "1e99",
        "*a",
        "&a",
        "!!int x",
        "|",
        "? a",
        "- -",
      ];
      const at = pick(lines.length);
      return lines.with(at, lines[at].replace(/: .*|:$/, `: ${values[pick(values.length)]}`)).join(
        "\n",
      );
    }
    default: {
      const at = pick(lines.length);
      return lines.toSpliced(pick(lines.length), 0, `${" ".repeat(pick(6))}${lines[at]}`).join(
        "\n",
      );
    }
  }
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

Deno.test("500 mutated files give sentences, never an exception; what converts is valid", async () => {
  const random = seeded(784);
  const originals = await Promise.all(
    ["v1alpha1", "v1alpha2", "mixed_fleet"].map((name) =>
      Deno.readTextFile(new URL(`../../../examples/config/${name}.yaml`, import.meta.url))
    ),
  );
  let [refused, converted] = [0, 0];
  for (let i = 0; i < 500; i++) {
    const content = mutated(originals[i % originals.length], random);
    const problems = problemsOf({ "a.yaml": content });
    if (problems.length > 0) refused++;
    for (const line of problems) assert.match(line, /^(warning: )?a\.yaml:\d+:\d+: [^\n]+$/);
    const text = decodeText(content instanceof Uint8Array ? content : encode(content), "a.yaml");
    if (typeof text !== "string") continue;
    const start = { source: "a.yaml", line: 1, column: 1 };
    const result = convertText({ text, start }, { to: undefined, adoptNewDefaults: false });
    if (result.kind === "refused") continue;
    converted++;
    const back = problemsOf({ "a.yaml": conversionText(result.conversion) });
    assert.deepEqual(back.filter((line) => !line.startsWith("warning: ")), [], text);
  }
  assert.ok(refused > 200, `only ${refused} were refused`);
  assert.ok(converted > 100, `only ${converted} were converted`);
});
