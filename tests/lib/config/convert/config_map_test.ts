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

const apiVersion = "kubeproxy.config.k8s.io/v1alpha1";

Deno.test("findEmbedded() puts a configuration back into a manifest, and touches nothing around it", () => {
  const before = "# ours\napiVersion: v1\nkind: ConfigMap\ndata:\n  config.conf: |-\n";
  const after = "  other: 'stays' # too\nmetadata: {name: kube-proxy}\n";
  const text = `${before}    apiVersion: ${apiVersion}\n    mode: ipvs\n${after}`;
  const embedded = findEmbedded(text, "a.yaml");
  assert.ok(embedded);
  assert.deepEqual(embedded.content, {
    text: `apiVersion: ${apiVersion}\nmode: ipvs`,
    start: { source: "a.yaml", line: 6, column: 5 },
  });
  assert.equal(
    embedded.replaced("mode: nftables\n\nipvs: {}\n"),
    `${before}    mode: nftables\n\n    ipvs: {}\n${after}`,
  );
});

Deno.test("findEmbedded() puts a configuration back into a manifest of JSON", () => {
  const manifest = {
    apiVersion: "v1",
    kind: "ConfigMap",
    data: { "config.conf": `apiVersion: ${apiVersion}\nmode: "ipvs"\n` },
    metadata: { name: "kube-proxy" },
  };
  const text = JSON.stringify(manifest, undefined, 2);
  const embedded = findEmbedded(text, "a.json");
  assert.ok(embedded);
  assert.equal(embedded.content.text, manifest.data["config.conf"]);
  const { column, line } = embedded.content.start;
  const row = text.split("\n")[line - 1];
  assert.equal(row.slice(0, column - 1), '    "config.conf": ');
  const fresh = 'mode: "nftables"\n';
  assert.equal(
    embedded.replaced(fresh),
    JSON.stringify({ ...manifest, data: { "config.conf": fresh } }, undefined, 2),
  );
});

Deno.test("findEmbedded() takes the first of several documents that holds one, and nothing that cannot be read", () => {
  const secret = "kind: Secret\ndata: {config.conf: kubeproxy.config.k8s.io/v1}\n";
  const empty = "kind: ConfigMap\n";
  assert.equal(found(`${secret}---\n- a\n---\n${empty}---\n${manifest(ours)}`), "nftables true");
  assert.equal(found(`${secret}---\n${empty}`), "none");
  assert.equal(found(`${manifest(ours)}---\nkind: [\n`), "none");
  assert.equal(found(ours), "none");
});
