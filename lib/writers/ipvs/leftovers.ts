/** What ipvs mode may have left: servers, a link, sets, and chains in either engine of iptables. */
import { describeError } from "../../base/errors.ts";
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import type { Protocol } from "../../base/protocol.ts";
import type { IpsetChange } from "../../kernel/ipset/ipset.ts";
import type { IpvsChange, IpvsProtocol } from "../../kernel/ipvs/ipvs.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { untilRulesLetGo } from "../../kernel/nf_tables/letting_go.ts";
import { findChains } from "../kube_chains/find_chains.ts";
import { IpvsChain, natTable } from "../kube_chains/names.ts";
import { ipvsOwned, isIptablesChain } from "../kube_chains/owned_chains.ts";
import { chainRemoval, type Place } from "../kube_chains/removal.ts";
import type {
  Kept,
  Leftover,
  ModeLeftovers,
  Removal,
  RemovalPlan,
  RemovalReport,
  RemovalStep,
  ServedFrontend,
} from "../leftovers.ts";
import { drain } from "./drain.ts";
import { linkName, setOf, setRoles } from "./names.ts";
import { type FamilyRemains, readRemains, type Remains } from "./remains.ts";
import { ownSettings } from "./settings.ts";

const backend = "ipvs";

/** The door of this mode to whoever looks for rules that were left, and removes them. */
export const leftovers: ModeLeftovers = {
  find,
  removal: removalBut([]),
  removalBut,
  served,
  settings: ownSettings,
  drain,
};

const chains = chainRemoval({
  owned: ipvsOwned,
  sharing: { reason: "iptables mode, whose chains are there", isThere: hasIptablesMode },
});

async function find(kernel: Kernel, signal: AbortSignal): Promise<readonly Leftover[]> {
  const link = kernel.links.find(linkName);
  const addresses = link
    ? kernel.links.addresses().filter(({ linkIndex }) => linkIndex === link.index)
    : [];
  const sets = new Set(kernel.ipset.list().map(({ name }) => name));
  const objects = ipFamilies.map((family): Leftover => {
    const hasAddresses = addresses.some((each) => each.family === family);
    const isLinkHere = link && (hasAddresses || (family === "IPv4" && addresses.length === 0));
    const set = setNamesOf(family).find((name) => sets.has(name));
    return {
      mode: "ipvs",
      backend,
      family,
      objects: [
        ...isLinkHere ? [`link ${linkName}`] : [],
        ...set === undefined ? [] : [`set ${set}`],
      ],
    };
  });
  const search = { mode: "ipvs", chains: [IpvsChain.loadBalancer], mayBeLarge: false };
  return [
    ...objects.filter((each) => each.objects.length > 0),
    ...await findChains(search, kernel, signal),
  ];
}

/** Each frontend has a server. Those of node ports are at addresses that the link has not. */
function served(kernel: Kernel, signal: AbortSignal): Promise<readonly ServedFrontend[]> {
  signal.throwIfAborted();
  const { families } = readRemains(kernel, []);
  return Promise.resolve(
    families.flatMap(({ addresses, servers }) =>
      servers.filter(({ destinations, server }) =>
        addresses.has(server.address) && destinations.some(({ weight }) => weight > 0)
      ).map(({ server: { address, port, protocol } }) => (
        { ip: address, port, protocol: protocols[protocol] }
      ))
    ),
  );
}

const protocols: Readonly<Record<IpvsProtocol, Protocol>> = {
  tcp: "TCP",
  udp: "UDP",
  sctp: "SCTP",
};

/** The removal that leaves servers in these ranges: they belong to somebody else. */
function removalBut(excluded: readonly string[]): Removal {
  return {
    plan: (kernel, signal) => plan(kernel, signal, excluded),
    apply: (kernel, planned, signal) => apply(kernel, planned, { excluded, signal }),
  };
}

async function plan(
  kernel: Kernel,
  signal: AbortSignal,
  excluded: readonly string[],
): Promise<RemovalPlan> {
  const remains = readRemains(kernel, excluded);
  const { link } = remains;
  const ofChains = await chains.plan(kernel, signal);
  const isOtherKind = link && link.kind !== "dummy";
  return {
    steps: [
      ...link && !isOtherKind ? [linkStep()] : [],
      ...remains.families.flatMap(serverSteps),
      ...ofChains.steps,
      ...remains.families.flatMap(setSteps),
    ],
    kept: ofChains.kept,
    remaining: [...isOtherKind ? [otherLink(link.kind)] : [], ...ofChains.remaining],
    remarks: [
      ...kernel.ipvs.version() === undefined ? ["the module ip_vs is not loaded"] : [],
      ...ofChains.remarks ?? [],
    ],
  };
}

/** From the outside in: nothing arrives any more, nobody answers, no rule; what rules name is last. */
async function apply(
  kernel: Kernel,
  planned: RemovalPlan,
  { excluded, signal }: { readonly excluded: readonly string[]; readonly signal: AbortSignal },
): Promise<RemovalReport> {
  const reasons = new Map<string, string>();
  const attempt = async (what: string, action: () => Promise<void> | void) => {
    try {
      signal.throwIfAborted();
      await action();
    } catch (error) {
      reasons.set(what, signal.aborted ? "stopped before it was removed" : describeError(error));
    }
  };
  const before = readRemains(kernel, excluded);
  const isOurLink = before.link?.kind === "dummy";
  if (isOurLink) await attempt("link", () => void kernel.links.remove(linkName));
  await attempt("virtual server", () => removeServers(kernel, before, { reasons, signal }));
  const ofChains = planned.steps.filter(({ kind }) => !ownKinds.includes(kind));
  const chainReport: RemovalReport = ofChains.length === 0
    ? { removed: [], remaining: [] }
    : await chains.apply(kernel, { ...planned, steps: ofChains }, signal);
  await attempt("set", () => removeSets(kernel, before, { reasons, signal }));
  const left = stepsLeft(kernel, before);
  const isLeft = (step: RemovalStep) => left.some((each) => keyOf(each) === keyOf(step));
  return {
    removed: [
      ...planned.steps.filter((step) => ownKinds.includes(step.kind) && !isLeft(step)),
      ...chainReport.removed,
    ],
    remaining: [
      ...left.map((step): Kept => ({
        what: `${step.kind} ${step.name}`,
        reason: reasons.get(step.name) ?? reasons.get(step.kind) ?? "it was made again",
      })),
      ...chainReport.remaining,
    ],
  };
}

async function removeServers(
  { ipvs }: Kernel,
  { families }: Remains,
  { reasons, signal }: Effort,
): Promise<void> {
  const changes = families.flatMap(({ servers }) =>
    servers.map(({ server }): IpvsChange => ({ kind: "delete-server", server }))
  );
  for (const { change, error } of await ipvs.commit(changes, { signal })) {
    reasons.set(frontendText(changes[change].server), error.message);
  }
}

const stillUsed =
  "a rule still uses it; remove that rule, or what kube-proxy cleanup left of it, and clean up again";

/** What uses a set keeps it. */
async function removeSets(
  { ipset }: Kernel,
  { families }: Remains,
  { reasons, signal }: Effort,
): Promise<void> {
  const all = families.flatMap(({ sets }) => sets.map(({ name }) => name));
  const destroy = async (names: readonly string[]) => {
    const changes = names.map((name): IpsetChange => ({ kind: "destroy", name }));
    const failures = await ipset.commit(changes, { signal });
    for (const { change, message, refusal } of failures) {
      reasons.set(names[change], refusal === "busy" ? stillUsed : message);
    }
    const busy = failures.filter(({ refusal }) => refusal === "busy");
    return busy.map(({ change }) => names[change]);
  };
  await untilRulesLetGo(all, destroy, signal);
}

/** What is told of things that could not be removed. */
interface Effort {
  /** By the name of the thing. */
  readonly reasons: Map<string, string>;
  readonly signal: AbortSignal;
}

/** Of what was there before, what is there still: its marks may be gone. */
function stepsLeft(kernel: Kernel, before: Remains): readonly RemovalStep[] {
  const servers = new Set(kernel.ipvs.read().map(({ server }) => frontendText(server)));
  const sets = new Set(kernel.ipset.list().map(({ name }) => name));
  const isLinkLeft = before.link?.kind === "dummy" && kernel.links.find(linkName) !== undefined;
  return [
    ...isLinkLeft ? [linkStep()] : [],
    ...before.families.flatMap(serverSteps).filter(({ name }) => servers.has(name)),
    ...before.families.flatMap(setSteps).filter(({ name }) => sets.has(name)),
  ];
}

/** Whether packets of iptables mode still go through the chains that both have. */
async function hasIptablesMode(kernel: Kernel, { backend, family }: Place): Promise<boolean> {
  if (backend === "legacy") {
    const { legacyTables } = kernel;
    return legacyTables.loaded(family).includes(natTable) &&
      legacyTables.chains(family, natTable).some(isIptablesChain);
  }
  const { chains } = await (await kernel.xtables("nft")).read(family, [natTable]);
  return chains.some(({ name }) => isIptablesChain(name));
}

function setNamesOf(family: IpFamily): readonly string[] {
  return setRoles.map((role) => setOf(role, family).name);
}

const ownKinds: readonly string[] = ["link", "virtual server", "set"];

function linkStep(): RemovalStep {
  return { action: "delete", backend, family: "IPv4", kind: "link", place: "", name: linkName };
}

function serverSteps({ family, servers }: FamilyRemains): readonly RemovalStep[] {
  return servers.map(({ server }) => ({
    action: "delete",
    backend,
    family,
    kind: "virtual server",
    place: "",
    name: frontendText(server),
  }));
}

function setSteps({ family, sets }: FamilyRemains): readonly RemovalStep[] {
  return sets.map(({ name }) => ({
    action: "delete",
    backend,
    family,
    kind: "set",
    place: "",
    name,
  }));
}

function keyOf({ kind, name }: RemovalStep): string {
  return `${kind} ${name}`;
}

function otherLink(kind: string): Kept {
  return {
    what: `link ${linkName}`,
    reason: `it is a ${kind || "hardware"} link and no dummy, so that somebody else made it; ` +
      `"ip link delete ${linkName}" removes it`,
  };
}
