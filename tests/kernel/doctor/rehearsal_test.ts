/** The rehearsal on this kernel: what it loads is what `run` writes, and its packets meet just that. */
import assert from "node:assert/strict";
import { createDoctorCommand } from "../../../cmd/doctor.ts";
import { systemClock } from "../../../lib/base/clock.ts";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import type { RehearsalRequest } from "../../../lib/doctor/rehearsal/messages.ts";
import type { RehearsalReport } from "../../../lib/doctor/rehearsal/report.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeLoadedModules } from "../../../lib/kernel/fake_loaded_modules.ts";
import { fakeAddress, FakeLinks } from "../../../lib/kernel/links/fake_links.ts";
import { runProgram } from "../../cmd/surroundings.ts";
import { clusterIP, hostAddresses, podCIDRs } from "../../scenarios/addresses.ts";
import { clusterManifests } from "../../scenarios/manifests.ts";
import { shopServices } from "../../scenarios/shop_services.ts";
import { ourProgramArgv } from "../rig/our_program.ts";
import { withOwnNamespace } from "../rig/own_namespace.ts";
import { ManifestFolder } from "../rig/programmers/program.ts";
import type { LookRequest } from "./rehearsal_worker.ts";

const nodeAddresses = ipFamilies.map((family) => hostAddresses.node[family]);

/** What decides where packets go, and with which address. */
const settings = {
  "masquerades what is not of pods": `clusterCIDR: ${Object.values(podCIDRs).join()}`,
  "knows no pods": "",
  "masquerades all, node ports everywhere":
    'iptables:\n  masqueradeAll: true\nnodePortAddresses: ["0.0.0.0/0", "::/0"]',
} as const;

interface Files extends AsyncDisposable {
  readonly manifests: string;
  readonly config: string;
}

async function filesOf(setting: keyof typeof settings): Promise<Files> {
  const folder = await ManifestFolder.create(clusterManifests(shopServices));
  const config = await Deno.makeTempFile({ prefix: "kpt-config-", suffix: ".yaml" });
  await Deno.writeTextFile(
    config,
    "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n" +
      "mode: nftables\nhostnameOverride: node\nconntrack: {maxPerCore: 0, min: 0}\n" +
      `healthzBindAddress: ""\nmetricsBindAddress: ""\n${settings[setting]}\n`,
  );
  return {
    manifests: folder.path,
    config,
    [Symbol.asyncDispose]: async () => {
      await Deno.remove(config);
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** What the program wants to rehearse, without a rehearsal. */
async function requestOf({ config, manifests }: Files): Promise<RehearsalRequest> {
  const requests: RehearsalRequest[] = [];
  const links = new FakeLinks({ addresses: nodeAddresses.map((ip) => fakeAddress(ip)) });
  const kernel = new FakeKernel({ links });
  const command = createDoctorCommand({
    ask: () => Promise.resolve({ kind: "nobody" }),
    clock: systemClock,
    hostName: "node",
    modules: new FakeLoadedModules(),
    openKernel: () => kernel,
    rehearse: (request) => {
      requests.push(request);
      return Promise.resolve({ kind: "failed", because: "a test looked on" });
    },
  });
  const entry = { words: ["doctor"], summary: "", load: () => Promise.resolve(command) };
  const args = ["doctor", "--only", "DRY01", "--manifests", manifests, "--config", config];
  const { stdout } = await runProgram(args, { entries: [entry] });
  assert.equal(requests.length, 1, stdout);
  return requests[0];
}

interface Looked {
  readonly report: RehearsalReport;
  /** In the words of `nft`. */
  readonly ruleset: string;
}

async function rehearse(
  request: RehearsalRequest,
  spoil: readonly (readonly string[])[] = [],
): Promise<Looked> {
  const worker = new Worker(new URL("./rehearsal_worker.ts", import.meta.url), { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage({ ...request, spoil } satisfies LookRequest);
    });
  } finally {
    worker.terminate();
  }
}

function faultsOf({ packets }: RehearsalReport): readonly string[] {
  assert.ok(packets.kind === "sent", packets.kind === "none" ? packets.because : "");
  return packets.faults.map(({ frontend, what }) => `${frontend}: ${what}`);
}

/** Elements of a set come in any order: each on a line of its own, sorted with all others. */
function normalized(ruleset: string): readonly string[] {
  return ruleset.split(/,\n|\n/).flatMap((line) => line.split(/, (?=[\w.:]+ \. )/))
    .map((line) => line.replace(/elements = \{|\}$/g, "").trim()).filter((line) => line !== "")
    .sort();
}

for (const setting of Object.keys(settings) as (keyof typeof settings)[]) {
  Deno.test(`a proxy that ${setting}: its rules are those of run, and packets fare well`, async () => {
    await using files = await filesOf(setting);
    const { report, ruleset } = await rehearse(await requestOf(files));
    assert.deepEqual(faultsOf(report), []);
    const { packets, families } = report;
    assert.ok(packets.kind === "sent" && packets.sent > 200, JSON.stringify(packets));
    assert.equal(packets.tried, packets.frontends);
    assert.deepEqual(families.map(({ error, family }) => [family, error]), [
      ["IPv4", undefined],
      ["IPv6", undefined],
    ]);
    await withOwnNamespace(async (namespace) => {
      for (const ip of nodeAddresses) await namespace.run("ip", "addr", "add", ip, "dev", "lo");
      const { config, manifests } = files;
      await namespace.run(
        ...ourProgramArgv(),
        ...["run", "--once", "--config", config, "--manifests", manifests],
      );
      const written = await namespace.run("nft", "list", "ruleset");
      assert.ok(normalized(written).length > 500);
      assert.deepEqual(normalized(ruleset), normalized(written));
    });
  });
}

Deno.test("one element that is not there is found, with the address that it is of", async () => {
  await using files = await filesOf("masquerades what is not of pods");
  const request = await requestOf(files);
  const { report, ruleset } = await rehearse(request);
  assert.deepEqual(faultsOf(report), []);
  const { IPv4: ip } = clusterIP(10);
  const key = new RegExp(`${ip.replaceAll(".", "\\.")} \\. tcp \\. (\\d+) :`).exec(ruleset);
  assert.ok(key, ruleset.slice(0, 2_000));
  const element = `{ ${ip} . tcp . ${key[1]} }`;
  const spoil = ["nft", "delete", "element", "ip", "kube-proxy", "service-ips", element];
  const faults = faultsOf((await rehearse(request, [spoil])).report);
  assert.equal(faults.length, 2, faults.join("\n"));
  for (const fault of faults) {
    assert.match(fault, new RegExp(`^${ip}:${key[1]}/TCP: (from the node: )?expected endpoint `));
  }
});

const spoilt: readonly (readonly [string, readonly string[]])[] = [
  ["no masquerading", ["nft", "flush", "chain", "ip6", "kube-proxy", "masquerading"]],
  ["no refusals", ["nft", "flush", "map", "ip", "kube-proxy", "no-endpoint-services"]],
  ["no source ranges", ["nft", "flush", "chain", "ip", "kube-proxy", "firewall-check"]],
  ["no node ports", ["nft", "flush", "map", "ip6", "kube-proxy", "service-nodeports"]],
  ["everything accepted", ["nft", "insert", "rule", "ip", "kube-proxy", "services", "accept"]],
];

for (const [name, argv] of spoilt) {
  Deno.test(`a rehearsal notices ${name}`, async () => {
    await using files = await filesOf("masquerades what is not of pods");
    const { report } = await rehearse(await requestOf(files), [argv]);
    assert.notDeepEqual(faultsOf(report), []);
  });
}
