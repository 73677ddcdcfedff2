/** Command lines as installers write them, unchanged: the proxy serves, in the mode that they mean. */
import assert from "node:assert/strict";
import { FakeApiserver } from "../../fakes/apiserver.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { ownLoopbackAddress } from "../../fakes/own_loopback_address.ts";
import {
  kubeconfigFor,
  nodeKernel,
  nodeName,
  nodeObject,
  ProxyRun,
  serviceObject,
  sliceObject,
} from "./proxy_rig.ts";

interface Line {
  readonly installer: string;
  /** `FOLDER` holds the node's files, `NODE` is its name, `ADDRESS` one that no other test uses. */
  readonly commandLine: readonly string[];
  readonly mode: string;
}

const lines: readonly Line[] = [
  {
    installer: "kubeadm: a file that leaves the mode open",
    commandLine: ["--config=FOLDER/config.conf", "--hostname-override=NODE"],
    mode: "iptables",
  },
  {
    installer: "EKS: the same with verbosity",
    commandLine: ["--v=2", "--config=FOLDER/config.conf", "--hostname-override=NODE"],
    mode: "iptables",
  },
  {
    installer: "k3s: flags alone",
    commandLine: [
      "--cluster-cidr=10.42.0.0/16",
      "--conntrack-max-per-core=0",
      "--conntrack-tcp-timeout-close-wait=0s",
      "--conntrack-tcp-timeout-established=0s",
      "--healthz-bind-address=ADDRESS",
      "--metrics-bind-address=ADDRESS:10249",
      "--hostname-override=NODE",
      "--kubeconfig=FOLDER/kubeconfig",
      "--proxy-mode=iptables",
    ],
    mode: "iptables",
  },
];

function configFor(folder: string, address: string): string {
  return JSON.stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "",
    clusterCIDR: "10.128.0.0/14",
    healthzBindAddress: `${address}:10256`,
    metricsBindAddress: `${address}:10249`,
    clientConnection: { kubeconfig: `${folder}/kubeconfig` },
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  });
}

for (const { installer, commandLine, mode } of lines) {
  Deno.test(`${installer}: it starts and serves in ${mode} mode`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "kpt-field-" });
    await using apiserver = await FakeApiserver.start();
    const address = ownLoopbackAddress();
    apiserver.put("nodes", nodeObject());
    apiserver.put("services", serviceObject("web", "172.30.0.10"));
    apiserver.put("endpointslices", sliceObject("web", "10.128.0.1"));
    await Deno.writeTextFile(`${folder}/kubeconfig`, kubeconfigFor(apiserver));
    await Deno.writeTextFile(`${folder}/config.conf`, configFor(folder, address));
    try {
      const sysctl = new FakeSysctl({ "net/ipv4/conf/all/route_localnet": "0" });
      await using run = new ProxyRun({
        kernel: nodeKernel({ sysctl }),
        commandLine: commandLine.map((word) =>
          word.replaceAll("FOLDER", folder).replaceAll("ADDRESS", address).replace("NODE", nodeName)
        ),
      });
      await run.said("In sync");
      assert.match(run.stderr, new RegExp(`"Starting kube-proxy" .*mode="${mode}"`));
      const { commits } = await run.kernel.xtables("nft");
      const written = JSON.stringify(commits);
      assert.ok(written.includes("172.30.0.10") && written.includes("10.128.0.1"), "its rules");
      assert.equal(await run.end(), 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
