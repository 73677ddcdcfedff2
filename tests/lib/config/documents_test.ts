/** Which documents are taken for what, and what is said of those that are not. */
import assert from "node:assert/strict";
import { configurationOf, problemsOf, v1, v2 } from "./loading.ts";

const files: readonly { name: string; text: string; says: readonly string[] }[] = [
  {
    name: "documents behind one of v1alpha1",
    text: `${v1("mode: nftables\n")}---\n${v2("mode: ipvs\n")}---\n[\n`,
    says: [
      "warning: a.yaml:5:1: of a v1alpha1 file only the first document counts; this one is ignored",
      "warning: a.yaml:10:1: of a v1alpha1 file only the first document counts; this one is ignored",
    ],
  },
  {
    name: "a broken document beside a good one",
    text: `${v2("mode: nftables\n")}---\nkind: KubeProxyConfiguration\n`,
    says: ["a.yaml:5:1: apiVersion: apiVersion is missing"],
  },
  { name: "empty documents around a good one", text: `---\n---\n${v2("")}---\n~\n`, says: [] },
  {
    name: "nothing but an empty document",
    text: "~\n",
    says: ["a.yaml:1:1: there is no configuration here; it needs apiVersion and kind"],
  },
  {
    name: "text that is no mapping",
    text: `text\n---\n${v2("")}`,
    says: ["a.yaml:1:1: a configuration must be a mapping of fields"],
  },
  {
    name: "a version that is a number",
    text: "apiVersion: 1\nkind: KubeProxyConfiguration\n",
    says: ["a.yaml:1:13: apiVersion: must be a string"],
  },
  {
    name: "a group without a version",
    text: "apiVersion: kubeproxy.config.k8s.io\nkind: KubeProxyConfiguration\n",
    says: ['unknown group, not "kubeproxy.config.k8s.io"; use kubeproxy.config.k8s.io/v1alpha2'],
  },
  {
    name: "another group with a known version",
    text: "apiVersion: example.com/v1alpha1\nkind: KubeProxyConfiguration\n",
    says: ["use kubeproxy.config.k8s.io/v1alpha1"],
  },
  {
    name: "a ConfigMap",
    text: "apiVersion: v1\nkind: ConfigMap\n",
    says: ["convert and validate read ConfigMap manifests, run reads the file that one holds"],
  },
  {
    name: "an unknown version of the group",
    text: "apiVersion: kubeproxy.config.k8s.io/v2\nkind: KubeProxyConfiguration\n",
    says: ['unknown version "v2"; known are v1alpha1 and v1alpha2'],
  },
  {
    name: "a kind of v1alpha2 in v1alpha1",
    text: "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyInstanceConfiguration\n",
    says: ["KubeProxyInstanceConfiguration is of v1alpha2"],
  },
  {
    name: "items of a list that are no mappings",
    text: v1("logging: {vmodule: [5, {filePattern: a, verbosity: 1, odd: 2, odd: 3}]}\n"),
    says: [
      "must be a list of filePattern and verbosity, not 5",
      "vmodule[1].odd: is given twice",
      "vmodule[1].odd: unknown field",
    ],
  },
  {
    name: "problems of one line from left to right",
    text: v2("linux: {conntrack: {b: 1, a: 2}}\n"),
    says: ["a.yaml:3:21: ", "a.yaml:3:27: "],
  },
  {
    name: "a field of the shared configuration in an instance",
    text: `${v2("mode: nftables\n")}---\n${
      v2("detectLocal: {}\n", "KubeProxyInstanceConfiguration")
    }`,
    says: ["belongs to the KubeProxyConfiguration"],
  },
];

for (const { name, text, says } of files) {
  Deno.test(`documents: ${name}`, () => {
    const problems = problemsOf({ "a.yaml": text });
    assert.equal(problems.length, says.length, problems.join("\n"));
    says.forEach((words, i) => assert.ok(problems[i].includes(words), problems.join("\n")));
  });
}

Deno.test("documents: an instance says what is this node's own", () => {
  const text = `${v2("mode: nftables\n")}---\n${
    v2("hostnameOverride: node-1\n", "KubeProxyInstanceConfiguration")
  }`;
  assert.equal(configurationOf({ "a.yaml": text }).hostnameOverride, "node-1");
});
