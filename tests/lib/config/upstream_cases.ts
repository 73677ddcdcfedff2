/**
 * v1alpha1 configurations whose fate upstream's own program decided (see `tests/peers/record_config.ts`):
 * every field with values of every kind, every rule at its bounds, every way of decoding.
 */

export interface UpstreamCase {
  readonly name: string;
  readonly text: string;
}

const header = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

/** `a.b` and a value as nested YAML. */
function nest(path: string, value: string): string {
  const names = path.split(".");
  return names.map((name, depth) => `${"  ".repeat(depth)}${name}:`).join("\n") + ` ${value}\n`;
}

/** Each value of each field, alone in a file. */
function fieldCases(
  rows: Readonly<Record<string, readonly string[]>>,
  prefix = "",
): UpstreamCase[] {
  return Object.entries(rows).flatMap(([path, values]) =>
    values.map((value) => ({
      name: `${prefix === "" ? "" : `${prefix.trim().replaceAll("\n", ", ")}, `}${path}: ${value}`,
      text: header + prefix + nest(path, value),
    }))
  );
}

const texts = ["text", '""', "null", "5", "true", "[a]", "{a: b}"];
const flags = ["true", "false", "yes", "off", "null", '"true"', "1", "[]"];
const durations = ["45s", "1h2m3s", "1500ms", "0s", "0", "30", '""', "null", "-1s", "1d", "true"];
const bits = ["0", "31", "32", "-1", "null", '"14"', "14.0", "14.5", "0x0e", "016", "3000000000"];
const addresses = [
  "192.168.0.2:1234",
  "192.168.0.2",
  '"[fd00:192:168::2]:1234"',
  "fd00:192:168::2",
  '"::"',
  '""',
  "null",
  "localhost:1234",
  "192.168.0.2:0",
  "192.168.0.2:65535",
  "192.168.0.2:65536",
  '"192.168.0.2:"',
  "192.168.0.2:http",
  '":1234"',
  "192.168.0.300:1234",
  "192.168.000.002:1234",
];

/** B.1: fields, types and defaults. */
const fields = fieldCases({
  "featureGates": [
    "{}",
    "null",
    "{AllBeta: true}",
    "{AllBeta: yes}",
    "{NFTablesNetlink: false}",
    "[a]",
  ],
  "clientConnection": ["{}", "null", "[]", "text"],
  "clientConnection.kubeconfig": texts,
  "clientConnection.acceptContentTypes": ["application/json", "7"],
  "clientConnection.contentType": ["application/json", '""', "null"],
  "clientConnection.qps": ["0", "50", "2.5", "-1", "null", '"5"', "1e2"],
  "clientConnection.burst": ["0", "100", "-1", "null", "1.5", "2147483648"],
  "hostnameOverride": ["node-1", "Node-1", '" node "', "null", "12"],
  "bindAddress": [
    "192.168.0.2",
    "fd00:192:168::2",
    '"::"',
    "0.0.0.0",
    '""',
    "null",
    "192.168.0.2:80",
    "node",
    "010.0.0.1",
    '"::ffff:192.168.0.2"',
    "7",
  ],
  "healthzBindAddress": addresses,
  "metricsBindAddress": addresses,
  "bindAddressHardFail": flags,
  "enableProfiling": ["true", "no"],
  "showHiddenMetricsForVersion": ["1.36", '"1.36"', '"1.35"', '"1.37"', '""'],
  "mode": [
    "iptables",
    "nftables",
    "ipvs",
    "kernelspace",
    "userspace",
    "IPTables",
    '""',
    "null",
    "1",
  ],
  "iptables": ["{}", "null", "[]"],
  "iptables.masqueradeBit": bits,
  "iptables.masqueradeAll": ["true", "null", '"no"'],
  "iptables.localhostNodePorts": ["false", "null", "0"],
  "iptables.syncPeriod": durations,
  "iptables.minSyncPeriod": durations,
  "ipvs.syncPeriod": ["45s", "-1s", "null"],
  "ipvs.minSyncPeriod": ["45s", "-1s", "null"],
  "ipvs.scheduler": ["wrr", "null", "3"],
  "ipvs.excludeCIDRs": ["[10.0.0.0/8]", "[]", "null", "[garbage]", "10.0.0.0/8", "[1]"],
  "ipvs.strictARP": ["true", '"true"'],
  "ipvs.tcpTimeout": ["5s", "-5s", "5", "null"],
  "ipvs.tcpFinTimeout": ["5s", "-5s", '""'],
  "ipvs.udpTimeout": ["5s", "-5s", "null"],
  "nftables.masqueradeBit": ["0", "31", "32", "null"],
  "nftables.masqueradeAll": ["true", "1"],
  "nftables.syncPeriod": ["45s", "-1s", "null"],
  "nftables.minSyncPeriod": ["45s", "-1s", "null"],
  "winkernel.networkName": ["overlay", "null", "1"],
  "winkernel.sourceVip": ["10.128.0.2", "garbage"],
  "winkernel.enableDSR": ["true", "maybe"],
  "winkernel.rootHnsEndpointName": ["cbr1"],
  "winkernel.forwardHealthCheckVip": ["true"],
  "detectLocalMode": [
    "ClusterCIDR",
    "NodeCIDR",
    "BridgeInterface",
    "clusterCIDR",
    "None",
    '""',
    "1",
  ],
  "detectLocal": ["{}", "null", "[]"],
  "detectLocal.bridgeInterface": ["br0", "null", "1"],
  "detectLocal.interfaceNamePrefix": ["veth", "1"],
  "clusterCIDR": [
    "10.128.0.0/14",
    "10.128.0.1/14",
    "fd00:10:128::/48",
    '"10.128.0.0/14,fd00:10:128::/48"',
    '"10.128.0.0/14, fd00:10:128::/48"',
    '"10.128.0.0/14,10.0.0.0/16"',
    '"10.128.0.0/14,fd00:10:128::/48,10.0.0.0/16"',
    "10.128.0.0",
    "garbage",
    '""',
    "null",
    '","',
    "[10.0.0.0/8]",
    "010.0.0.0/8",
  ],
  "nodePortAddresses": [
    "[]",
    "null",
    "[primary]",
    "[localhost]",
    "[all]",
    "[primary, localhost, all]",
    "[primary, primary]",
    "[192.168.0.0/16]",
    "[192.168.0.0/16, 192.168.0.0/16]",
    "[192.168.0.2]",
    "[Primary]",
    "[fd00:192:168::/48]",
    "primary",
    "[1]",
    '[""]',
  ],
  "oomScoreAdj": ["-1000", "1000", "-1001", "1001", "0", "null", '"0"', "0.5"],
  "conntrack": ["null", "[]"],
  "conntrack.maxPerCore": ["0", "-1", "null", "65536", '"1"'],
  "conntrack.min": ["0", "-1", "null"],
  "conntrack.tcpEstablishedTimeout": ["0s", "2h", "-1s", "null", "0", '""'],
  "conntrack.tcpCloseWaitTimeout": ["0s", "2h", "-1s", "null"],
  "conntrack.tcpBeLiberal": ["true", "null", "2"],
  "conntrack.udpTimeout": ["30s", "-1s", "null"],
  "conntrack.udpStreamTimeout": ["30s", "-1s", "null"],
  "configSyncPeriod": ["10m", "0s", "-1s", "null", "10"],
  "portRange": ["1000-2000", "null", "1"],
  "windowsRunAsService": ["true", "false", "null", "1"],
});

/** B.1 and B.3, 12 and 13: logging. */
const logging = [
  ...fieldCases({
    "logging": ["null", "[]"],
    "logging.format": ["text", "json", '""', "xml", "null", "1"],
    "logging.flushFrequency": ["10s", "0", "5000000000", "-1", "-1s", '""', "null", "1.5", "true"],
    "logging.verbosity": ["4", "-1", "2147483647", "2147483648", "4294967296", '"4"', "null"],
    "logging.vmodule": [
      "[{filePattern: proxier, verbosity: 4}]",
      "[{filePattern: proxier}]",
      "[{verbosity: 4}]",
      "[{filePattern: a=b, verbosity: 1}]",
      '[{filePattern: "a,b", verbosity: 1}]',
      "null",
      "[]",
      "proxier=4",
      "[{filePattern: a, verbosity: -1}]",
      "[{filePattern: a, verbosity: 1, other: 2}]",
    ],
    "logging.options.text.splitStream": ["true", "false", '"true"'],
    "logging.options.text.infoBufferSize": ['"0"', "0", "4Ki", "null", "abc"],
    "logging.options.json.splitStream": ["true", "false"],
    "logging.options.json.infoBufferSize": ["4Ki", '"0"'],
  }),
  ...fieldCases({
    "logging.options.text.splitStream": ["true"],
    "logging.options.text.infoBufferSize": ["4Ki", "1024Ki", "4096", '"1e3"', "1500m"],
    "logging.options.json.infoBufferSize": ["1Mi"],
  }, "featureGates: {LoggingAlphaOptions: true}\n"),
  ...fieldCases({ "logging.format": ["json"] }, "featureGates: {LoggingBetaOptions: false}\n"),
  ...fieldCases({ "logging": ["{format: json, vmodule: [{filePattern: a, verbosity: 1}]}"] }),
];

/** B.2 and B.3: what the mode decides. */
const modes = ["iptables", "nftables", "ipvs"].flatMap((mode) =>
  fieldCases({
    "iptables": [
      "{syncPeriod: 10s, minSyncPeriod: 2s, masqueradeAll: true, masqueradeBit: 3}",
      "{masqueradeBit: 40}",
    ],
    "ipvs": [
      "{syncPeriod: 11s, minSyncPeriod: 3s}",
      "{tcpTimeout: -1s, tcpFinTimeout: -1s, udpTimeout: -1s}",
      "{excludeCIDRs: [10.0.0.0/8, garbage, 10]}",
    ],
    "nftables": [
      "{syncPeriod: 12s, minSyncPeriod: 4s, masqueradeAll: true, masqueradeBit: 5}",
      "{masqueradeBit: -2}",
    ],
    "iptables.minSyncPeriod": ["40s"],
    "ipvs.minSyncPeriod": ["40s", "0s"],
    "nftables.minSyncPeriod": ["40s", "0s"],
    "iptables.syncPeriod": ["500ms"],
    "ipvs.syncPeriod": ["500ms"],
    "nftables.syncPeriod": ["500ms"],
    "nodePortAddresses": ["[]"],
  }, `mode: ${mode}\n`)
);

/** B.3, 1, 5 and 11: gates and detection. */
const rules = [
  ...fieldCases({
    "featureGates": [
      "{NoSuchGate: true}",
      "{SidecarContainers: true}",
      "{NFTablesProxyMode: false}",
      "{NFTablesProxyMode: true}",
      "{AllAlpha: true}",
      "{AllAlpha: true, AllBeta: true}",
      "{AllAlpha: false}",
      '{AllBeta: "true"}',
      "{AllBeta: null}",
    ],
  }),
  ...fieldCases(
    { "mode": ["ipvs", "iptables", "nftables"] },
    "featureGates: {KubeProxyIPVS: false}\n",
  ),
  ...fieldCases({ "clusterCIDR": ["garbage", '"a,b,c"'] }, "detectLocalMode: NodeCIDR\n"),
  ...fieldCases(
    { "detectLocal.bridgeInterface": ["br0", '""'] },
    "detectLocalMode: BridgeInterface\n",
  ),
  ...fieldCases(
    { "detectLocal.interfaceNamePrefix": ["veth", '""'] },
    "detectLocalMode: InterfaceNamePrefix\n",
  ),
  ...fieldCases(
    { "healthzBindAddress": ['""', "192.168.0.2"], "metricsBindAddress": ['""'] },
    'bindAddress: "fd00:192:168::2"\n',
  ),
];

/** B.4: decoding. */
const decoding: UpstreamCase[] = [
  { name: "nothing but kind and version", text: header },
  { name: "an unknown field", text: `${header}modes: iptables\n` },
  { name: "an unknown field in a section", text: `${header}iptables: {masqueradebit: 3}\n` },
  { name: "a field in another case", text: `${header}BindAddress: 192.168.0.2\n` },
  {
    name: "a field given twice: the last counts",
    text: `${header}oomScoreAdj: 1\noomScoreAdj: 2\n`,
  },
  { name: "an unknown field beside a wrong type", text: `${header}modes: x\noomScoreAdj: "1"\n` },
  { name: "an unknown field beside a broken rule", text: `${header}modes: x\noomScoreAdj: 2000\n` },
  {
    name: "a second document that is broken",
    text: `${header}oomScoreAdj: 5\n---\nnot: [closed\n`,
  },
  { name: "a second document", text: `${header}oomScoreAdj: 5\n---\noomScoreAdj: 6\n` },
  { name: "no kind", text: "apiVersion: kubeproxy.config.k8s.io/v1alpha1\n" },
  { name: "no version", text: "kind: KubeProxyConfiguration\n" },
  {
    name: "an unknown version",
    text: "apiVersion: kubeproxy.config.k8s.io/v1\nkind: KubeProxyConfiguration\n",
  },
  {
    name: "another group",
    text: "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
  },
  {
    name: "another kind",
    text: "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfig\n",
  },
  { name: "an empty file", text: "" },
  { name: "a list", text: "- a\n" },
  {
    name: "JSON",
    text:
      '{"apiVersion":"kubeproxy.config.k8s.io/v1alpha1","kind":"KubeProxyConfiguration",\n\t"oomScoreAdj": 7, "conntrack": {"min": 9}}\n',
  },
  {
    name: "anchors and aliases",
    text: `${header}clusterCIDR: &range 10.128.0.0/14\nnodePortAddresses: [*range]\n`,
  },
  {
    name: "a merge key",
    text:
      `${header}iptables: &mode {syncPeriod: 10s, minSyncPeriod: 2s}\nnftables: {<<: *mode, masqueradeAll: true}\nmode: nftables\n`,
  },
  { name: "broken syntax", text: `${header}iptables: {masqueradeBit: 3\n` },
  { name: "tabs for indentation", text: `${header}iptables:\n\tmasqueradeBit: 3\n` },
  {
    name: "YAML 1.1 booleans",
    text: `${header}enableProfiling: on\nbindAddressHardFail: y\nwindowsRunAsService: Yes\n`,
  },
  {
    name: "numbers as YAML 1.1 has them",
    text: `${header}oomScoreAdj: 0b11\nconntrack: {min: 1_000, maxPerCore: 0x10}\n`,
  },
  {
    name: "the periods of every section",
    text:
      `${header}iptables: {syncPeriod: 1m}\nipvs: {syncPeriod: 2m}\nnftables: {syncPeriod: 3m}\n`,
  },
  {
    name: "several broken rules",
    text:
      `${header}mode: foo\noomScoreAdj: 2000\nconntrack: {min: -1, udpTimeout: -1s}\nbindAddress: x\n`,
  },
];

/** All of them; names are unique. */
export const upstreamCases: readonly UpstreamCase[] = [
  ...fields,
  ...logging,
  ...modes,
  ...rules,
  ...decoding,
];
