/** Where the rules lead connections to endpoints now: each has a rule in the chain of all Services. */
import { canonicalIp } from "../../base/ip.ts";
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import type { Protocol } from "../../base/protocol.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { XtRule } from "../../kernel/xtables/rules.ts";
import type { XtBackend } from "../../kernel/xtables/xtables.ts";
import { NatChain } from "../kube_chains/names.ts";
import { standsAside } from "../kube_chains/stand_aside.ts";
import type { ServedFrontend } from "../leftovers.ts";

/** The chains that such a rule leads to are named as this begins. */
const serviceChain = /^KUBE-(SVC|SVL|EXT|FW|XLB)-/;

/** See `ModeLeftovers.served`. */
export async function served(
  kernel: Kernel,
  signal: AbortSignal,
): Promise<readonly ServedFrontend[]> {
  const found: ServedFrontend[] = [];
  for (const backend of ["nft", "legacy"] as const) {
    for (const family of ipFamilies) {
      signal.throwIfAborted();
      if (!await hasTable(kernel, { backend, family })) continue;
      const reading = await (await kernel.xtables(backend)).read(family, ["nat"]);
      const rules = (await reading.rules("nat", [NatChain.services])).get(NatChain.services) ?? [];
      if (standsAside(rules, family)) continue;
      found.push(...rules.flatMap(({ rule }) => (rule && frontendOf(rule)) ?? []));
    }
  }
  return found;
}

/** Reading a table of the older engine that is not there would make it. */
async function hasTable(
  kernel: Kernel,
  { backend, family }: { readonly backend: XtBackend; readonly family: IpFamily },
): Promise<boolean> {
  if (backend === "legacy") return kernel.legacyTables.loaded(family).includes("nat");
  const tables = await (await kernel.nftables()).listTables();
  const wanted = family === "IPv4" ? "ip" : "ip6";
  return tables.some((table) => table.family === wanted && table.name === "nat");
}

function frontendOf({ destination, matches, target }: XtRule): ServedFrontend | undefined {
  if (target?.kind !== "jump" || !serviceChain.test(target.chain)) return undefined;
  const [, address] = /^(.*)\/(?:32|128)$/.exec(destination?.cidr ?? "") ?? [];
  const ip = canonicalIp(address ?? "");
  const ports = matches.find((match) => match.kind === "ports");
  if (ip === undefined || destination?.not || ports?.destination === undefined) return undefined;
  return { ip, port: ports.destination, protocol: protocols[ports.protocol] };
}

const protocols: Readonly<Record<"tcp" | "udp" | "sctp", Protocol>> = {
  tcp: "TCP",
  udp: "UDP",
  sctp: "SCTP",
};
