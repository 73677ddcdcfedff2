/** Random configurations that are valid, as the values of a file by path. */
import fc from "fast-check";
import { writeYaml } from "../../../lib/config/write.ts";

/** Paths and what stands there. */
export type Values = Readonly<Record<string, unknown>>;

const flag = fc.boolean();
const bit = fc.integer({ min: 0, max: 31 });
const count = fc.integer({ min: 0, max: 1_000_000 });
const timeout = fc.constantFrom("0s", "1s", "90s", "1h0m0s", "1500ms", "24h");
const minPeriod = fc.constantFrom("0s", "1s", "2500ms", "9s");
const period = fc.constantFrom("0s", "10s", "30s", "1m30s");
const name = fc.constantFrom("", "br0", "veth", "eth1");
const cidrs = fc.constantFrom([], ["198.51.100.0/24"], ["198.51.100.0/24", "2001:db8:51::/64"]);
const address = fc.constantFrom("", "0.0.0.0", "192.168.0.2:1234", "fd00:192:168::2", "[::]:999");
const detectLocal = fc.constantFrom(
  "",
  "ClusterCIDR",
  "NodeCIDR",
  "BridgeInterface",
  "InterfaceNamePrefix",
);
const mode = fc.constantFrom("", "iptables", "ipvs", "nftables");

/** What both versions call the same. */
const shared = {
  "bindAddressHardFail": flag,
  "clientConnection.acceptContentTypes": fc.constantFrom("", "application/json"),
  "clientConnection.burst": fc.integer({ min: 0, max: 500 }),
  "clientConnection.contentType": fc.constantFrom("", "application/json"),
  "clientConnection.kubeconfig": fc.constantFrom("", "/etc/kubeconfig"),
  "clientConnection.qps": fc.integer({ min: -5, max: 500 }),
  "enableProfiling": flag,
  "featureGates": fc.constantFrom({}, { AllBeta: true }, {
    NFTablesNetlink: false,
    WatchListClient: true,
  }),
  "healthzBindAddress": address,
  "hostnameOverride": fc.constantFrom("", "Node-1"),
  "ipvs.excludeCIDRs": cidrs,
  "ipvs.scheduler": fc.constantFrom("", "wrr"),
  "ipvs.strictARP": flag,
  "ipvs.tcpFinTimeout": timeout,
  "ipvs.tcpTimeout": timeout,
  "ipvs.udpTimeout": timeout,
  "logging.flushFrequency": fc.constantFrom("3s", 0, 2_000_000_000),
  "logging.verbosity": fc.integer({ min: 0, max: 10 }),
  "logging.vmodule": fc.constantFrom([], [{ filePattern: "proxier", verbosity: 4 }]),
  "metricsBindAddress": address,
  "nftables.masqueradeBit": bit,
  "nodePortAddresses": fc.constantFrom([], ["primary"], ["all", "192.168.0.0/16"]),
  "showHiddenMetricsForVersion": fc.constantFrom("", "1.36"),
  "winkernel.enableDSR": flag,
  "winkernel.forwardHealthCheckVip": flag,
  "winkernel.networkName": name,
  "winkernel.rootHnsEndpointName": name,
  "winkernel.sourceVip": fc.constantFrom("", "10.128.0.2"),
};

const conntrack = (prefix: string) => ({
  [`${prefix}maxPerCore`]: fc.option(count),
  [`${prefix}min`]: fc.option(count),
  [`${prefix}tcpBeLiberal`]: flag,
  [`${prefix}tcpCloseWaitTimeout`]: fc.option(timeout),
  [`${prefix}tcpEstablishedTimeout`]: fc.option(timeout),
  [`${prefix}udpStreamTimeout`]: timeout,
  [`${prefix}udpTimeout`]: timeout,
});

/** v1alpha1, also with values in sections that its mode does not read. */
export const v1alpha1Values: fc.Arbitrary<Values> = someOf({
  ...shared,
  ...conntrack("conntrack."),
  "bindAddress": fc.constantFrom("", "0.0.0.0", "::", "192.168.0.2", "fd00:192:168::2"),
  "clusterCIDR": fc.constantFrom("", "10.128.0.0/14", "10.128.0.0/14,fd00:10:128::/48"),
  "configSyncPeriod": period,
  "iptables.localhostNodePorts": fc.option(flag),
  "iptables.masqueradeAll": flag,
  "iptables.masqueradeBit": fc.option(bit),
  "iptables.minSyncPeriod": minPeriod,
  "iptables.syncPeriod": period,
  "ipvs.minSyncPeriod": minPeriod,
  "ipvs.syncPeriod": period,
  "nftables.masqueradeAll": flag,
  "nftables.minSyncPeriod": minPeriod,
  "nftables.syncPeriod": period,
  "oomScoreAdj": fc.option(fc.integer({ min: -1000, max: 1000 })),
  "portRange": fc.constantFrom("", "1000-2000"),
  "windowsRunAsService": flag,
});

/** v1alpha2, as far as v1alpha1 has words for it. */
export const sayableV1alpha2Values: fc.Arbitrary<Values> = fc.tuple(
  someOf({
    ...shared,
    ...conntrack("linux.conntrack."),
    "configSyncPeriod": fc.constantFrom("10m", "1h"),
    "detectLocal.clusterCIDRs": fc.constantFrom([], ["10.128.0.0/14"], [
      "10.128.0.0/14",
      "fd00:10:128::/48",
    ]),
    "iptables.backend": fc.constant("auto"),
    "iptables.localhostNodePorts": fc.option(flag),
    "ipFamilyPolicy": fc.constant("PreferDualStack"),
    "linux.masqueradeAll": flag,
    "linux.oomScoreAdj": fc.option(fc.integer({ min: -1000, max: 1000 })),
    "minSyncPeriod": fc.option(fc.constantFrom("1s", "9s")),
    "nodeIPOverride": fc.constantFrom([], ["192.168.0.2"], ["fd00:192:168::2"]),
    "syncPeriod": fc.constantFrom("10s", "30s", "1m30s"),
    "windows.runAsService": flag,
  }),
  fc.option(bit, { nil: undefined }),
).map(([values, shared]): Values => {
  const bits = shared === undefined
    ? {}
    : { "iptables.masqueradeBit": shared, "ipvs.masqueradeBit": shared };
  return { ...values, ...bits, configHardFail: false };
});

/** A file of the version with these values. */
export function fileOf(version: string, values: Values): string {
  const root: Record<string, unknown> = {
    apiVersion: `kubeproxy.config.k8s.io/${version}`,
    kind: "KubeProxyConfiguration",
  };
  for (const [path, value] of Object.entries(values)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let target = root;
    for (const name of names) target = target[name] = { ...(target[name] ?? {}) } as typeof root;
    target[last] = value;
  }
  return writeYaml(root);
}

/** Any of the paths with any of their values; the mode and what detection needs go together. */
function someOf(
  arbitraries: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<Values> {
  return fc.tuple(
    fc.record(arbitraries, { requiredKeys: [] }),
    fc.record({ mode, detectLocalMode: detectLocal }, { requiredKeys: [] }),
  ).map(([values, modes]): Values => ({
    ...values,
    ...modes,
    ...(modes.detectLocalMode === "BridgeInterface"
      ? { "detectLocal.bridgeInterface": "br0" }
      : {}),
    ...(modes.detectLocalMode === "InterfaceNamePrefix"
      ? { "detectLocal.interfaceNamePrefix": "veth" }
      : {}),
  }));
}
