/**
 * Which of the kernel's two rule engines the rules go to: the one that the node's other software writes
 * to. kubelet leaves a chain there as a hint; without one it is nft, which most systems use by now.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { Logger } from "../../base/log.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { Errno } from "../../kernel/errno.ts";
import { hasErrno } from "../../kernel/netlink/errors.ts";
import { toolOf } from "../../kernel/xtables/rules.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { XtBackend } from "../../kernel/xtables/xtables.ts";
import { hintChains } from "./names.ts";

/** As configured; `auto` takes the one that kubelet uses, else nft. */
type BackendSetting = "auto" | XtBackend;

/** The engine, and why it is that one. */
export interface BackendChoice {
  readonly backend: XtBackend;
  /** Completes "…, since ". */
  readonly reason: string;
}

/** The tool of the older tables that is not installed, with the way out; undefined where none is needed or missing. */
export function missingTool(
  { commands }: Kernel,
  { backend, family }: { readonly backend: XtBackend; readonly family: IpFamily },
): string | undefined {
  if (backend === "nft") return undefined;
  const tools = ["restore", "save"].map((what) => `${toolOf(family)}-legacy-${what}`);
  const missing = tools.find((tool) => commands.lookPath(tool) === undefined);
  return missing && `"${missing}" is not installed; install iptables`;
}

/** Looks without changing anything: a table that is not there is not made by asking. */
export async function chooseBackend(
  kernel: Kernel,
  setting: BackendSetting,
): Promise<BackendChoice> {
  if (setting !== "auto") return { backend: setting, reason: "the configuration says so" };
  const nftables = await openNftables(kernel);
  const nft = nftables && await findInNft(nftables);
  if (nft !== undefined) return { backend: "nft", reason: `kubelet made ${nft} there` };
  const legacy = findInLegacy(kernel);
  if (legacy !== undefined) return { backend: "legacy", reason: `kubelet made ${legacy} there` };
  return nftables
    ? { backend: "nft", reason: "kubelet left no hint" }
    : { backend: "legacy", reason: "this kernel has no nf_tables" };
}

/** Says once when the node's other software has changed over to the other engine. Changes nothing. */
export class BackendWatch {
  readonly #kernel: Kernel;
  readonly #setting: BackendSetting;
  readonly #chosen: XtBackend;
  readonly #logger: Logger;
  #isSaid = false;

  constructor(kernel: Kernel, { chosen, logger, setting }: BackendWatchOptions) {
    this.#kernel = kernel;
    this.#setting = setting;
    this.#chosen = chosen;
    this.#logger = logger;
  }

  async look(): Promise<void> {
    if (this.#isSaid || this.#setting !== "auto") return;
    const { backend, reason } = await chooseBackend(this.#kernel, this.#setting);
    if (backend === this.#chosen) return;
    this.#isSaid = true;
    this.#logger.warning(
      `The node's other software went over to iptables' ${backend} backend (${reason}); restart the ` +
        `proxy to follow, and remove the rules in the ${this.#chosen} backend`,
    );
  }
}

/** What a watch compares with. */
export interface BackendWatchOptions {
  readonly setting: BackendSetting;
  readonly chosen: XtBackend;
  readonly logger: Logger;
}

const families: readonly IpFamily[] = ["IPv4", "IPv6"];

/** How a kernel says that it has no nf_tables: no netlink of that family, or no such subsystem. */
const missing: readonly number[] = [
  Errno.EPROTONOSUPPORT,
  Errno.EOPNOTSUPP,
  Errno.EAFNOSUPPORT,
];

/** Undefined where the kernel has nothing of the kind; every other refusal is thrown. */
async function openNftables(kernel: Kernel): Promise<Nftables | undefined> {
  try {
    const nftables = await kernel.nftables();
    await nftables.generation();
    return nftables;
  } catch (error) {
    if (missing.some((errno) => hasErrno(error, errno))) return undefined;
    throw error;
  }
}

async function findInNft(nftables: Nftables): Promise<string | undefined> {
  const tables = await nftables.listTables();
  for (const family of ["ip", "ip6"] as const) {
    if (!tables.some((table) => table.family === family && table.name === "mangle")) continue;
    const [found] = await nftables.findChains({ family, name: "mangle" }, hintChains);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findInLegacy({ legacyTables }: Kernel): string | undefined {
  for (const family of families) {
    if (!legacyTables.loaded(family).includes("mangle")) continue;
    const chains = legacyTables.chains(family, "mangle");
    const found = hintChains.find((chain) => chains.includes(chain));
    if (found !== undefined) return found;
  }
  return undefined;
}
