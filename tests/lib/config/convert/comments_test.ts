import assert from "node:assert/strict";
import { conversionText, convertText } from "../../../../lib/config/convert/convert.ts";

/** As kubeadm writes it; nearly all of it says nothing. */
const fields = `bindAddress: 0.0.0.0
clientConnection:
  burst: 0
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
clusterCIDR: 10.244.0.0/16
conntrack:
  maxPerCore: null
  min: null
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
featureGates:
  NFTablesProxyMode: true
iptables:
  localhostNodePorts: null
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  syncPeriod: 0s
nftables:
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
portRange: ""`.split("\n");

type Style = "above the field" | "behind the field" | "below the field";
const styles: readonly Style[] = ["above the field", "behind the field", "below the field"];

/** The file with a comment at every field, which names the field's place. */
function commented(style: Style, mode: string): string {
  const lines = ["apiVersion: kubeproxy.config.k8s.io/v1alpha1", "kind: KubeProxyConfiguration"];
  for (const { line, indent, path } of places()) {
    const comment = `# <${path}>`;
    const inner = line.endsWith(":") ? `${indent}  ` : indent;
    if (style === "above the field") lines.push(indent + comment, line);
    else if (style === "behind the field") lines.push(`${line} ${comment}`);
    else lines.push(line, inner + comment);
  }
  return `${[...lines, `mode: "${mode}"`].join("\n")}\n`;
}

function places(): { line: string; indent: string; path: string }[] {
  let section = "";
  return fields.map((line) => {
    const [, indent, name] = /^( *)(\w+):/.exec(line) ?? [];
    if (indent === "") section = name;
    return { line, indent, path: indent === "" ? name : `${section}.${name}` };
  });
}

/** The section at the top in which each comment stands; empty for one that stands in none. */
function sectionsOfComments(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let section = "";
  for (const line of text.split("\n")) {
    const top = /^(\w+):/.exec(line)?.[1];
    if (top) section = top;
    for (const [, path] of line.matchAll(/# .*?<([\w.]+)>/g)) {
      found.set(path, line.startsWith("#") ? "" : section);
    }
  }
  return found;
}

for (const style of styles) {
  for (const mode of ["", "iptables", "ipvs", "nftables"]) {
    Deno.test(`converting keeps a comment ${style} in its section, with mode "${mode}"`, () => {
      const text = commented(style, mode);
      const start = { source: "a.yaml", line: 1, column: 1 };
      const result = convertText({ text, start }, { to: undefined, adoptNewDefaults: false });
      assert.ok(result.kind === "converted");
      const converted = conversionText(result.conversion);
      const found = sectionsOfComments(converted);
      for (const { path } of places()) {
        assert.ok(found.has(path), `the comment on ${path} is gone:\n${converted}`);
        const [section, field] = path.split(".");
        // What the comment is about may go elsewhere; a section that stays keeps the rest.
        if (!field || !new RegExp(`^${section}:`, "m").test(converted)) continue;
        assert.equal(found.get(path), section, `the comment on ${path}:\n${converted}`);
      }
    });
  }
}
