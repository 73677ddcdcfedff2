/**
 * What a proxy in ipvs mode keeps beside rules: virtual servers, sets, and addresses on a link. By the
 * tools' own words, each line beginning with its tool's name.
 */
import type { IpFamily } from "../../../lib/base/ip_family.ts";

/** Runs a program inside the node's namespace; throws when it fails. */
export type OnNode = (argv: readonly string[], stdin?: string) => Promise<string>;

/** The link that holds the addresses of Services. */
const ipvsLink = "kube-ipvs0";

/** What the mode sets for the whole node. */
const settings = ["conntrack", "expire_nodest_conn", "expire_quiescent_template"] as const;

/** Sorted: the kernel lists in the order of its hash tables. What it chose for those itself is left out. */
export async function listIpvs(onNode: OnNode, family: IpFamily): Promise<string> {
  const all = [
    ...await listServers(onNode, family),
    ...await listSets(onNode, family),
    ...await listAddresses(onNode, family),
    ...family === "IPv4" ? await listSettings(onNode) : [],
  ];
  return all.map((line) => `${line}\n`).join("");
}

/** Removes all of it, whoever made it. */
export async function deleteIpvs(onNode: OnNode): Promise<void> {
  await onNode(["ipvsadm", "--clear"]);
  const link = JSON.stringify(ipvsLink);
  await onNode(["sh", "-c", `! ip link show ${link} >/dev/null 2>&1 || ip link delete ${link}`]);
  await onNode(["ipset", "destroy"]);
}

async function listServers(onNode: OnNode, family: IpFamily): Promise<readonly string[]> {
  const lines = (await onNode(["ipvsadm", "--save", "--numeric"])).split("\n");
  return lines.filter((line) => line.includes("[") === (family === "IPv6") && line !== "")
    .map((line) => `ipvsadm ${line.trim()}`).toSorted();
}

/** A bitmap has no family; its name has. */
async function listSets(onNode: OnNode, family: IpFamily): Promise<readonly string[]> {
  const lines = (await onNode(["ipset", "save"])).split("\n").filter((line) => line !== "");
  return lines.filter((line) => / KUBE-6-/.test(line) === (family === "IPv6"))
    .map((line) => `ipset ${line.replaceAll(/ (bucketsize|initval) \S+/g, "")}`)
    .toSorted();
}

async function listAddresses(onNode: OnNode, family: IpFamily): Promise<readonly string[]> {
  const flag = family === "IPv4" ? "-4" : "-6";
  const lines = await onNode(["ip", flag, "-o", "address", "show", "dev", ipvsLink]);
  return [...lines.matchAll(/ inet6? (\S+)/g)].map(([, address]) => `address ${address}`)
    .toSorted();
}

async function listSettings(onNode: OnNode): Promise<readonly string[]> {
  const values = await onNode([
    "sh",
    "-c",
    'cd /proc/sys/net/ipv4/vs && cat "$@"',
    "sh",
    ...settings,
  ]);
  return values.trimEnd().split("\n").map((value, i) => `sysctl ${settings[i]} ${value}`);
}
