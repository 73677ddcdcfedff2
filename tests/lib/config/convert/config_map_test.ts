import assert from "node:assert/strict";
import { findEmbedded } from "../../../../lib/config/convert/config_map.ts";

const configuration = (mode: string) =>
  `|-\n    apiVersion: kubeproxy.config.k8s.io/v1alpha1\n    kind: KubeProxyConfiguration\n    mode: ${mode}\n`;
const manifest = (...entries: readonly string[]) =>
  `apiVersion: v1\nkind: ConfigMap\ndata:\n${entries.map((entry) => `  ${entry}`).join("")}`;

/** Which configuration is found, by its mode, and whether it is under kubeadm's name. */
function found(text: string): string {
  const embedded = findEmbedded(text, "a.yaml");
  if (!embedded) return "none";
  return `${/mode: (\w+)/.exec(embedded.content.text)?.[1]} ${embedded.isKubeadms}`;
}

const ours = `config.conf: ${configuration("nftables")}`;
const other = `a.conf: ${configuration("iptables")}`;
const last = `z.conf: ${configuration("ipvs")}`;

for (
  const [name, entries, result] of [
    ["one under kubeadm's name", [ours], "nftables true"],
    ["kubeadm's behind another", [other, ours], "nftables true"],
    ["kubeadm's before another", [ours, last], "nftables true"],
    ["kubeadm's between two", [other, ours, last], "nftables true"],
    ["the first where none is kubeadm's", [other, last], "iptables false"],
    ["none where no entry is one", ["config.conf: text\n"], "none"],
  ] as const
) {
  Deno.test(`findEmbedded() finds ${name}`, () =>
    assert.equal(found(manifest(...entries)), result));
}
