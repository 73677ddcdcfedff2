import assert from "node:assert/strict";
import { commandTree } from "../../../cmd/commands.ts";
import { type Ran, runProgram } from "../surroundings.ts";
import { inFolder } from "../../fakes/folder.ts";

const golden = new URL("../../golden/config/", import.meta.url);
const examples = new URL("../../../examples/config/", import.meta.url).pathname;

function run(...args: string[]): Promise<Ran> {
  return runProgram(["config", ...args], {
    entries: commandTree.entries,
    groups: commandTree.groups,
  });
}

async function assertGolden(name: string, actual: string): Promise<void> {
  const path = new URL(name, golden);
  if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(path, actual);
  assert.equal(actual, await Deno.readTextFile(path));
}

Deno.test("config convert: kubeadm's ConfigMap keeps every comment and every other byte", async () => {
  const path = new URL("kubeadm_configmap.yaml", golden).pathname;
  const before = await Deno.readTextFile(path);
  const { exitCode, stdout, stderr } = await run("convert", path);
  assert.equal(exitCode, 0);
  await assertGolden("kubeadm_configmap_v1alpha2.yaml", stdout);
  await assertGolden(
    "kubeadm_configmap_report.txt",
    stderr.replaceAll(path, "kubeadm_configmap.yaml"),
  );
  for (const [, comment] of before.matchAll(/# ?(.+)$/gm)) {
    assert.ok(stdout.includes(comment), `the comment "${comment}" is gone`);
  }
  assert.ok(stdout.endsWith(before.slice(before.indexOf("  kubeconfig.conf:"))));
  assert.ok(stdout.startsWith(before.slice(0, before.indexOf("    # The proxy of"))));
});

Deno.test("config convert: the result of kubeadm's ConfigMap is valid and comes back", async () => {
  await inFolder(async (folder) => {
    const path = new URL("kubeadm_configmap.yaml", golden).pathname;
    const out = `${folder}/new.yaml`;
    assert.equal((await run("convert", path, "--out", out)).exitCode, 0);
    const valid = await run("validate", out);
    assert.equal(valid.stdout, `${out}: valid (v1alpha2, no mode chosen)\n`);
    const back = await run("convert", out);
    assert.equal(back.exitCode, 0);
    assert.match(
      back.stdout,
      /config.conf: \|-\n(.*\n)*? {4}apiVersion: kubeproxy.config.k8s.io\/v1alpha1\n/,
    );
  });
});

Deno.test("config convert --split makes files that are one configuration", async () => {
  await inFolder(async (folder) => {
    const result = await run("convert", `${examples}v1alpha1.yaml`, "--split", `${folder}/split`);
    assert.equal(result.exitCode, 0, result.stderr);
    assert.equal(result.stdout, "");
    const names = [...Deno.readDirSync(`${folder}/split`)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["instance.yaml", "iptables.yaml", "kube-proxy.yaml"]);
    const valid = await run("validate", `${folder}/split`);
    assert.equal(valid.exitCode, 0, valid.stdout);
    assert.match(valid.stdout, /valid \(v1alpha2, mode nftables\)/);
  });
});

Deno.test("config convert --adopt-new-defaults leaves changed defaults out and reports them", async () => {
  const result = await run("convert", `${examples}v1alpha1.yaml`, "--adopt-new-defaults");
  assert.doesNotMatch(result.stdout, /HardFail|localhostNodePorts/);
  assert.match(
    result.stderr,
    /^dropped +configHardFail: false \(the default is true from now on\)$/m,
  );
});

Deno.test("config convert --fail-on-loss writes nothing and exits 1", async () => {
  await inFolder(async (folder) => {
    const [file, out] = [`${folder}/a.yaml`, `${folder}/b.yaml`];
    await Deno.copyFile(`${examples}v1alpha2.yaml`, file);
    const result = await run("convert", file, "--fail-on-loss", "--out", out);
    assert.equal(result.exitCode, 1);
    assert.match(result.stderr, /^lost +configHardFail: true/m);
    assert.match(result.stderr, /Error: Nothing was written: something would be lost\n$/);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["a.yaml"]);
  });
});

Deno.test("config convert -o json holds the text and the report", async () => {
  const { stdout, stderr } = await run("convert", `${examples}v1alpha1.yaml`, "-o", "json");
  const values = JSON.parse(stdout);
  assert.equal(stderr, "");
  assert.equal(values.schemaVersion, 1);
  assert.equal(values.to, "v1alpha2");
  assert.match(values.text, /^apiVersion: kubeproxy.config.k8s.io\/v1alpha2$/m);
  assert.deepEqual(values.report[0], {
    kind: "kept",
    from: "clientConnection.kubeconfig",
    to: "clientConnection.kubeconfig",
    value: "/var/lib/kube-proxy/kubeconfig.conf",
    why: "",
  });
});

Deno.test("config convert that fails leaves nothing behind", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/a.yaml`;
    await Deno.writeTextFile(
      file,
      "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\noomScoreAdj: x\n",
    );
    const result = await run("convert", file, "--out", `${folder}/b.yaml`);
    assert.equal(result.exitCode, 1);
    assert.equal(result.stdout, "");
    assert.match(result.stderr, /a.yaml:3:14: oomScoreAdj: must be a whole number/);
    const nowhere = await run(
      "convert",
      `${examples}v1alpha1.yaml`,
      "--out",
      `${folder}/no/b.yaml`,
    );
    assert.equal(nowhere.exitCode, 2);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["a.yaml"]);
  });
});

/** The exit codes of the `config` commands. */
const exits: { name: string; args: string[]; exitCode: number; says: RegExp }[] = [
  {
    name: "validate a valid file",
    args: ["validate", `${examples}v1alpha2.yaml`],
    exitCode: 0,
    says: /: valid \(v1alpha2, mode nftables\)\n$/,
  },
  {
    name: "validate a file that is not there",
    args: ["validate", "/nowhere/a.yaml"],
    exitCode: 2,
    says: /^Error: Cannot read "\/nowhere\/a.yaml": no such file or directory\n$/,
  },
  {
    name: "convert a file that is not there",
    args: ["convert", "/nowhere/a.yaml"],
    exitCode: 2,
    says: /^Error: Cannot read/,
  },
  {
    name: "convert to two places",
    args: ["convert", "a", "--out", "b", "--split", "c"],
    exitCode: 2,
    says: /exclude each other/,
  },
  {
    name: "split the old version",
    args: ["convert", "a", "--to", "v1alpha1", "--split", "c"],
    exitCode: 2,
    says: /--split needs v1alpha2/,
  },
  {
    name: "convert to an unknown version",
    args: ["convert", "a", "--to", "v1"],
    exitCode: 2,
    says: /v1alpha1, v1alpha2/,
  },
  {
    name: "defaults of an unknown mode",
    args: ["defaults", "--mode", "userspace"],
    exitCode: 2,
    says: /iptables, ipvs, kernelspace, nftables/,
  },
];

Deno.test("config commands end with the exit code of what happened", async (t) => {
  for (const { name, args, exitCode, says } of exits) {
    await t.step(name, async () => {
      const result = await run(...args);
      assert.equal(result.exitCode, exitCode, result.stderr);
      assert.match(result.stdout + result.stderr, says);
    });
  }
});

Deno.test("config validate is strict, and lenient when asked", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/a.yaml`;
    const text = await Deno.readTextFile(`${examples}v1alpha1.yaml`);
    await Deno.writeTextFile(file, `${text}modes: x\n`);
    const strict = await run("validate", file);
    assert.equal(strict.exitCode, 1);
    assert.match(strict.stdout, /modes: unknown field; did you mean "mode"\?\n.*: 1 error\n$/);
    const lenient = await run("validate", "--lenient", file, "-o", "json");
    assert.equal(lenient.exitCode, 0);
    const values = JSON.parse(lenient.stdout);
    assert.equal(values.valid, true);
    assert.equal(values.problems[0].severity, "warning");
    assert.equal(values.problems[0].line, 15);
  });
});

Deno.test("config schema and config defaults print what they promise", async () => {
  const schema = JSON.parse((await run("schema")).stdout);
  assert.equal(schema.title, "Configuration of kube-proxy");
  const defaults = await run("defaults", "--mode", "nftables", "--api-version", "v1alpha1");
  assert.match(defaults.stdout, /^mode: nftables$/m);
  assert.doesNotMatch(defaults.stdout, /^ipvs:$/m);
});

/** A v1alpha1 file with these lines, converted; what is said comes back without the file's folder. */
async function convertLines(lines: string, ...args: string[]): Promise<Ran> {
  return await inFolder(async (folder) => {
    const file = `${folder}/a.yaml`;
    await Deno.writeTextFile(file, lines);
    const ran = await run("convert", file, ...args);
    const bare = (text: string) => text.replaceAll(`${folder}/`, "");
    return { ...ran, stdout: bare(ran.stdout), stderr: bare(ran.stderr) };
  });
}

const header = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

/** What the report says about lines of the field. */
const reported: readonly { name: string; lines: string; says: string }[] = [
  {
    name: "an address as the file spells it",
    lines: 'bindAddress: "::"\nhealthzBindAddress: 127.0.0.1:1\nmetricsBindAddress: 127.0.0.1:2\n',
    says: "dropped                bindAddress: :: (every address is the default)\n",
  },
  {
    name: "a deprecated gate in one sentence",
    lines: "featureGates: {KubeProxyIPVS: true}\n",
    says: "warning: a.yaml:3:16: featureGates.KubeProxyIPVS: sets a deprecated feature gate, " +
      "which a future release will not have (KubeProxyConfiguration.featureGates)\n",
  },
  {
    name: "a field that Kubernetes removed, and when",
    lines: "udpIdleTimeout: 250ms\n",
    says:
      "warning: a.yaml:3:1: udpIdleTimeout: unknown field; removed in Kubernetes 1.26; delete it\n",
  },
  {
    name: "what is there instead of a removed limit",
    lines: "conntrack: {max: 3}\n",
    says:
      "dropped                conntrack.max (unknown field; removed in Kubernetes 1.16; delete it, " +
      "or use conntrack.maxPerCore and conntrack.min)\n",
  },
  {
    name: "a removed container",
    lines: "resourceContainer: /kube-proxy\n",
    says: "resourceContainer: unknown field; removed in Kubernetes 1.16; delete it\n",
  },
  {
    name: "where ipvs mode reads masqueradeAll",
    lines: "ipvs: {masqueradeAll: true}\n",
    says: "unknown field; not a field of ipvs; use iptables.masqueradeAll, which ipvs mode reads\n",
  },
];

for (const { name, lines, says } of reported) {
  Deno.test(`config convert reports ${name}`, async () => {
    const { stderr } = await convertLines(header + lines);
    assert.ok(stderr.includes(says), stderr);
  });
}

Deno.test("config convert names the group for the version that was written", async () => {
  const lines = "apiVersion: componentconfig/v1alpha1\nkind: KubeProxyConfiguration\n";
  const { exitCode, stderr } = await convertLines(lines);
  assert.equal(exitCode, 1);
  assert.equal(
    stderr,
    'a.yaml:1:13: apiVersion: unknown group, not "componentconfig/v1alpha1"; use kubeproxy.config.k8s.io/v1alpha1\n',
  );
});

/** As `kubeadm init --config` reads it. */
const stream = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking:
  serviceSubnet: 172.30.0.0/16
---
# the proxy
${header}mode: nftables
oomScoreAdj: -998
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
`;

Deno.test("config convert picks the proxy's document of a stream for kubeadm, and says so", async () => {
  const { exitCode, stdout, stderr } = await convertLines(stream);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^# the proxy\napiVersion: kubeproxy.config.k8s.io\/v1alpha2$/m);
  assert.doesNotMatch(stdout, /kubeadm|Kubelet|serviceSubnet/);
  assert.match(stderr, /^note: .*ClusterConfiguration, KubeletConfiguration$/m);
  assert.match(stderr, /^note: kubeadm reads v1alpha1 alone/m);
});

Deno.test("config convert never writes over the documents of others", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/a.yaml`;
    await Deno.writeTextFile(file, stream);
    const { exitCode, stderr } = await run("convert", file, "--out", file);
    assert.equal(exitCode, 2);
    assert.match(stderr, /the result has no ClusterConfiguration and no KubeletConfiguration/);
    assert.equal(await Deno.readTextFile(file), stream);
  });
});

Deno.test("config validate points into a stream for kubeadm", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/a.yaml`;
    await Deno.writeTextFile(file, stream.replace("-998", "5000"));
    const { exitCode, stdout } = await run("validate", file);
    assert.equal(exitCode, 1);
    assert.match(stdout, /a.yaml:10:14: oomScoreAdj: must be within/);
  });
});

Deno.test("a stream without a document of the proxy is refused as a whole", async () => {
  const { exitCode, stderr } = await convertLines(stream.replace("kubeproxy.config", "other"));
  assert.equal(exitCode, 1);
  assert.match(stderr, /^a.yaml:1:13: apiVersion: unknown group, not "kubeadm.k8s.io\/v1beta4"/);
});

Deno.test("config convert -o json has the notes of kubeadm's ConfigMap", async () => {
  const path = new URL("kubeadm_configmap.yaml", golden).pathname;
  const there = JSON.parse((await run("convert", path, "-o", "json")).stdout);
  assert.equal(there.notes.length, 1);
  assert.match(there.notes[0], /--to v1alpha1$/);
  const { stdout } = await convertLines(header, "-o", "json");
  assert.deepEqual(JSON.parse(stdout).notes, []);
});

for (const command of ["convert", "validate"]) {
  Deno.test(`config ${command} -o json tells of a file that cannot be read`, async () => {
    const { exitCode, stdout, stderr } = await run(command, "/nowhere/a.yaml", "-o", "json");
    assert.deepEqual([exitCode, stderr], [2, ""]);
    const values = JSON.parse(stdout);
    assert.equal(values[command === "convert" ? "converted" : "valid"], false);
    assert.equal(values.problems[0].file, "/nowhere/a.yaml");
    assert.match(values.problems[0].rule, /no such file or directory$/);
  });
}

Deno.test("config convert without a file does not wait at a terminal", async () => {
  const { exitCode, stderr } = await runProgram(["config", "convert"], {
    entries: commandTree.entries,
    groups: commandTree.groups,
    isTerminal: true,
  });
  const said = "Error: Missing FILE: nothing is piped in; name a file, or - to type one\n";
  assert.deepEqual([exitCode, stderr], [2, said]);
});
