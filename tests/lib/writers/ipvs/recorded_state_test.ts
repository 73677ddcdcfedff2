/** For the cluster that upstream's proxy was recorded with, this mode asks for the same, in every set-up. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../../lib/base/ip_family.ts";
import { readEndpointSlice } from "../../../../lib/kube/json/endpoint_slice.ts";
import { readNode } from "../../../../lib/kube/json/node.ts";
import { readService } from "../../../../lib/kube/json/service.ts";
import type { ApiObject } from "../../../../lib/kube/objects.ts";
import { ClusterState } from "../../../../lib/trackers/cluster_state.ts";
import { nodePortAddressesOf } from "../../../../lib/writers/ipvs/contribution.ts";
import { renderText } from "../../../../lib/writers/ipvs/render.ts";
import { differencesFromRecord, readRecordedRules } from "../../../peers/recorded_rules.ts";
import { podCIDRs } from "../../../scenarios/addresses.ts";
import { clusterManifests } from "../../../scenarios/manifests.ts";
import { ipvsModes, type Setup, setupsOf } from "../../../scenarios/setups.ts";
import { boundToNode, shopServices } from "../../../scenarios/shop_services.ts";

/** A node with these addresses that knows the whole cluster. */
function stateOf(
  { detectLocal, masqueradeAll, nodePortAddresses }: Setup,
  addresses: readonly string[],
): ClusterState {
  const state = new ClusterState({
    families: ipFamilies,
    nodeName: "node",
    nodeIPOverride: [],
    masqueradeAll,
    localTraffic: detectLocal === "none"
      ? { kind: "none" }
      : { kind: "cluster-cidr", clusterCIDRs: Object.values(podCIDRs) },
    nodePortAddresses: [nodePortAddresses],
    startedMs: 0,
    listsAllAddresses: true,
  });
  state.setInterfaceAddresses(["127.0.0.1", "::1", "fe80::1", ...addresses]);
  for (const manifest of clusterManifests(shopServices)) {
    if (manifest.kind === "Node") state.applyNodes(upsert(readNode(manifest)));
    if (manifest.kind === "Service") {
      const object = readService(manifest);
      if (!object.otherProxy) state.applyServices(upsert(object));
    }
    if (manifest.kind === "EndpointSlice") {
      const object = readEndpointSlice(manifest);
      if (!object.otherProxy) state.applyEndpointSlices(upsert(object));
    }
  }
  return state;
}

function upsert<T extends ApiObject>(object: T) {
  return { kind: "changes" as const, changes: [{ kind: "upsert" as const, object }] };
}

/** What would be loaded, as the tools list it afterwards: jumps at the head of their chains, each line with its tool. */
function listed(text: string, family: IpFamily): string {
  const jumps: string[] = [];
  const lines: string[] = [];
  const others: string[] = [];
  let tool = "";
  const takeJumps = () => lines.push(...jumps.splice(0).toReversed());
  for (const line of text.trimEnd().split("\n")) {
    if (line.startsWith("# ")) tool = line.slice(2).split(/[ -]/)[0];
    else if (line.startsWith("-I ")) jumps.push(line.replace(/^-I /, "-A "));
    else if (line.startsWith("*") || line.startsWith(":")) {
      lines.push(line.replace(/ \[0:0\]$/, ""));
    } else if (line === "COMMIT") takeJumps();
    else if (tool === "iptables" || tool === "ip6tables") lines.push(line);
    else if (tool === "ipvsadm") others.push(`ipvsadm ${line}`);
    else if (tool === "ipset") others.push(`ipset ${line}`);
    else if (line.startsWith("address add ")) others.push(`address ${line.split(" ")[2]}`);
  }
  const settings = family === "IPv4"
    ? ["conntrack", "expire_nodest_conn", "expire_quiescent_template"].map((name) =>
      `sysctl ${name} 1`
    )
    : [];
  const by = (name: string) => others.filter((line) => line.startsWith(name)).toSorted();
  return [...lines, ...by("ipvsadm"), ...by("ipset"), ...by("address"), ...settings].join("\n");
}

/** The addresses of the node that was recorded: those that answer at the node port that every set-up has. */
function nodeAddressesIn(recorded: readonly string[]): readonly string[] {
  return recorded.flatMap((line) =>
    /^ipvsadm -A -t \[?([^\]\s]+?)\]?:30012 /.exec(line)?.[1] ?? []
  );
}

/** The apiserver's own Service was there too. */
const isApiserver = (line: string) => /\b172\.30\.0\.1(,tcp:443|:443|\/32|$)/.test(line);

const [mode] = ipvsModes;

for (const setup of setupsOf(mode)) {
  for (const family of ipFamilies) {
    Deno.test(`upstream's state of the shop is ours, ${setup.name}, ${family}`, async () => {
      const recorded = (await readRecordedRules(setup, family)).filter((line) =>
        !isApiserver(line)
      );
      assert.ok(recorded.length > 400, `${recorded.length} lines`);
      const bound = boundToNode.map((each) => each[family]);
      const addresses = [...nodeAddressesIn(recorded), ...bound];
      const taken = stateOf(setup, addresses).families.get(family)?.take();
      assert.ok(taken);
      const { services, settings } = taken.snapshot;
      const text = renderText({
        family,
        settings,
        mark: 0x4000,
        scheduler: "rr",
        nodePortAddresses: nodePortAddressesOf(settings),
        otherLinksHave: new Set(addresses),
      }, services.values());
      assert.deepEqual(differencesFromRecord(listed(text, family), recorded, "ipvs"), []);
    });
  }
}
