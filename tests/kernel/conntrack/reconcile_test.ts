import assert from "node:assert/strict";
import type { Conntrack } from "../../../lib/kernel/conntrack/conntrack.ts";
import { NetlinkConntrack } from "../../../lib/kernel/conntrack/netlink_conntrack.ts";
import { ConntrackReconciler } from "../../../lib/sync/conntrack_reconciler.ts";
import { endpointOf, servicePortOf } from "../../fakes/service_ports.ts";
import { type OwnNamespace, withOwnNamespace } from "../rig/own_namespace.ts";

/** The real table of the namespace, each call begun inside it. */
function tableOf(namespace: OwnNamespace): Conntrack {
  const table = new NetlinkConntrack();
  return {
    list: (filter, options) => namespace.inside(() => table.list(filter, options)),
    remove: (flows, signal) => namespace.inside(() => table.remove(flows, signal)),
  };
}

async function insert(
  namespace: OwnNamespace,
  destination: string,
  port: number,
  answeredBy: string,
  clientPort: number,
): Promise<void> {
  const { ip, port: endpointPort } = endpointOf(answeredBy);
  const client = destination.includes(":") ? "fd00:10:128::77" : "10.128.0.77";
  await namespace.run(
    ...["conntrack", "-I", "-s", client, "-d", destination, "-r", ip, "-q", client, "-p", "udp"],
    ...["--sport", `${clientPort}`, "--dport", `${port}`, "-t", "600"],
    ...["--reply-port-src", `${endpointPort}`, "--reply-port-dst", `${clientPort}`],
  );
}

/** `destination endpoint` of each flow, as the tool lists them. */
async function left(namespace: OwnNamespace, family: string): Promise<readonly string[]> {
  const text = await namespace.run("conntrack", "-L", "-f", family, "-p", "udp");
  return text.split("\n").filter((line) => line.includes("src=")).map((line) => {
    const fields = [...line.matchAll(/\b(src|dst)=(\S+)/g)].map(([, , value]) => value);
    return `${fields[1]} ${fields[2]}`;
  }).sort();
}

const families = [
  {
    family: "IPv4",
    tool: "ipv4",
    clusterIP: "172.30.0.10",
    nodeIP: "192.168.0.2",
    other: "192.168.0.53",
    serving: "10.128.0.4",
    gone: "10.128.0.9",
  },
  {
    family: "IPv6",
    tool: "ipv6",
    clusterIP: "fd00:172:30::a",
    nodeIP: "fd00:192:168::2",
    other: "fd00:192:168::53",
    serving: "fd00:10:128::4",
    gone: "fd00:10:128::9",
  },
] as const;

for (const { clusterIP, family, gone, nodeIP, other, serving, tool } of families) {
  Deno.test(`ConntrackReconciler ends the stale ${family} flows of the kernel's table`, () =>
    withOwnNamespace(async (namespace) => {
      const at = (ip: string) => ip.includes(":") ? `[${ip}]:53` : `${ip}:53`;
      await insert(namespace, clusterIP, 53, at(serving), 4000);
      await insert(namespace, clusterIP, 53, at(gone), 4001);
      await insert(namespace, nodeIP, 30_053, at(gone), 4002);
      await insert(namespace, nodeIP, 30_053, at(serving), 4003);
      await insert(namespace, other, 53, at(other), 4004);
      const dns = servicePortOf({
        name: "dns",
        protocol: "UDP",
        clusterIP,
        port: 53,
        nodePort: 30_053,
        servingEndpoints: [endpointOf(at(serving))],
      });
      const reconciler = new ConntrackReconciler(family, tableOf(namespace));
      const { signal } = new AbortController();
      const reconcile = (port: typeof dns) => {
        reconciler.note(new Set([port.key]), {
          udpPorts: new Map([[port.key, port]]),
          endpointsChanged: true,
        });
        return reconciler.reconcile(signal);
      };
      assert.deepEqual(await reconcile(dns), { removed: 2, complete: true });
      const untouched = [`${nodeIP} ${serving}`, `${other} ${other}`];
      assert.deepEqual(
        await left(namespace, tool),
        [`${clusterIP} ${serving}`, ...untouched].sort(),
      );
      // Scaled to nothing: the cluster IP's flows end, the node port's may be anybody's.
      assert.deepEqual(await reconcile({ ...dns, servingEndpoints: [] }), {
        removed: 1,
        complete: true,
      });
      assert.deepEqual(await left(namespace, tool), untouched.toSorted());
    }));
}
