/**
 * What the rig has to know of a mode: where its rules are, how they are listed and removed, and how a
 * node says which of iptables' two engines is used. By the tools' own words alone.
 */
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import type { RuleMode } from "../../scenarios/setups.ts";
import { runCommand } from "./command.ts";
import { deleteIpvs, listIpvs, type OnNode } from "./ipvs_state.ts";

/** The tables of iptables that a proxy writes to. */
const iptablesTables = ["filter", "nat", "mangle"] as const;

/** Removes all rules that a proxy of the mode may have made, of both families; none is fine. */
export async function deleteRules(onNode: OnNode, mode: RuleMode): Promise<void> {
  if (mode.kind === "nftables") return await deleteTables(onNode, ["kube-proxy"]);
  if (mode.backend === "legacy") await emptyLegacy(onNode);
  else await deleteTables(onNode, iptablesTables);
  // Last, since rules hold the sets.
  if (mode.kind === "ipvs") await deleteIpvs(onNode);
}

async function deleteTables(onNode: OnNode, names: readonly string[]): Promise<void> {
  const script = ["ip", "ip6"].flatMap((family) =>
    names.flatMap((name) => [`add table ${family} ${name}`, `delete table ${family} ${name}`])
  );
  await onNode(["nft", "-f", "-"], `${script.join("\n")}\n`);
}

/** The rules as the mode's own tools print them, without counts of packets. */
export async function listRules(
  onNode: OnNode,
  mode: RuleMode,
  family: IpFamily,
): Promise<string> {
  if (mode.kind === "nftables") {
    const table = family === "IPv4" ? "ip" : "ip6";
    return await onNode(["nft", "-s", "list", "table", table, "kube-proxy"]);
  }
  const tool = `${toolOf(family)}-${mode.backend}-save`;
  const saved = await Promise.all(iptablesTables.map((table) => onNode([tool, "-t", table])));
  const rules = saved.join("").replaceAll(/^#.*\n/gm, "").replaceAll(/ \[\d+:\d+\]$/gm, "");
  return mode.kind === "ipvs" ? rules + await listIpvs(onNode, family) : rules;
}

/** Loads lines of `listRules`, with the tables they speak of empty before. */
export async function restoreRules(
  onNode: OnNode,
  { mode, family, rules }: {
    readonly mode: RuleMode;
    readonly family: IpFamily;
    readonly rules: readonly string[];
  },
): Promise<void> {
  const argv = mode.kind === "nftables"
    ? ["nft", "-f", "-"]
    : [`${toolOf(family)}-${mode.backend}-restore`, "-w", "5"];
  await onNode(argv, `${rules.join("\n")}\n`);
}

/**
 * Says on the node which engine the kubelet uses, as the kubelet says it. A proxy of ours looks for
 * that; so does the image of upstream's.
 */
export async function showBackend(onNode: OnNode, mode: RuleMode): Promise<void> {
  if (mode.kind === "nftables") return;
  for (const family of ipFamilies) {
    const tool = `${toolOf(family)}-${mode.backend}`;
    await onNode(["sh", "-c", `${tool} -t mangle -S KUBE-IPTABLES-HINT 2>/dev/null || exec "$@"`]
      .concat("sh", tool, "-w", "5", "-t", "mangle", "-N", "KUBE-IPTABLES-HINT"));
  }
}

/** A folder for the front of PATH in which `iptables` and its like are those of one engine. */
export class ToolFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(mode: RuleMode): Promise<ToolFolder> {
    const folder = new ToolFolder(await Deno.makeTempDir({ prefix: "kpt-tools-" }));
    if (mode.kind === "nftables") return folder;
    for (const family of ipFamilies) {
      for (const suffix of ["", "-save", "-restore"]) {
        const tool = `${toolOf(family)}-${mode.backend}${suffix}`;
        const real = (await runCommand(["sh", "-c", `command -v ${tool}`])).trim();
        // The programs are one, which goes by the name that it is called.
        await Deno.symlink(await Deno.realPath(real), `${folder.path}/${toolOf(family)}${suffix}`);
      }
    }
    return folder;
  }

  /** The environment of a program that is to use these. */
  get env(): Readonly<Record<string, string>> {
    return { PATH: `${this.path}:${Deno.env.get("PATH") ?? ""}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

function toolOf(family: IpFamily): "iptables" | "ip6tables" {
  return family === "IPv4" ? "iptables" : "ip6tables";
}

/** A table that nobody asked for is not there, and is made by asking: so are these, empty. */
async function emptyLegacy(onNode: OnNode): Promise<void> {
  for (const family of ipFamilies) {
    const input = iptablesTables.map((table) => `*${table}\nCOMMIT\n`).join("");
    await onNode([`${toolOf(family)}-legacy-restore`, "-w", "5"], input);
  }
}
