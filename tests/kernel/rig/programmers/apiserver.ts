/**
 * A proxy beside a real apiserver, started as kubeadm's DaemonSet starts it: our own program, or
 * upstream's, which judges what a table of fates says. The node namespace is joined to the control
 * plane's; nothing else differs from the other programmers.
 */
import { ApiClient, type ManifestObject } from "../../../controlplane/rig/api.ts";
import { ControlPlane, type ControlPlaneAccess } from "../../../controlplane/rig/control_plane.ts";
import { ProxyFiles } from "../../../controlplane/rig/proxy_files.ts";
import { ProxyProcess, type ProxyProgram } from "../../../controlplane/rig/proxy_process.ts";
import { podCIDRs } from "../../../scenarios/addresses.ts";
import type { Manifest } from "../../../scenarios/manifests.ts";
import type { RuleMode, Setup } from "../../../scenarios/setups.ts";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import type { Cluster } from "../cluster.ts";
import type { OnNode } from "../ipvs_state.ts";
import { listRules, showBackend, ToolFolder } from "../mode_rules.ts";
import { patience } from "../patience.ts";
import type { Programmer, RunningProxy } from "../programmer.ts";

/** The node's number on the control plane's network, and the name of its link there. */
const controlLink = { index: 77, device: "control" } as const;
const SYNC_DEADLINE_MS = 30_000 * patience;
const REST_MS = 800 * patience;

/** A control plane that a node can be joined to, wherever it runs. */
export interface JoinableControlPlane extends AsyncDisposable {
  readonly access: ControlPlaneAccess;
  /** Afterwards the node and the calling thread reach the apiserver. */
  join(
    node: string,
    link: { readonly index: number; readonly device: string },
  ): Promise<void>;
}

/** A running proxy whose process can be asked. */
export interface ApiserverProxy extends RunningProxy {
  readonly process: ProxyProcess;
}

export class ApiserverProgrammer implements Programmer, AsyncDisposable {
  readonly name: string;
  readonly api: ApiClient;
  readonly plane: JoinableControlPlane;
  readonly #program: ProxyProgram;
  readonly #joined = new Set<string>();

  private constructor(program: ProxyProgram, plane: JoinableControlPlane) {
    this.name = `${program.name} from an apiserver`;
    this.#program = program;
    this.plane = plane;
    this.api = new ApiClient(plane.access);
  }

  /** With a control plane of its own if none is given; it ends with the programmer. */
  static async create(
    program: ProxyProgram,
    plane?: JoinableControlPlane,
  ): Promise<ApiserverProgrammer> {
    return new ApiserverProgrammer(program, plane ?? await ControlPlane.start());
  }

  /** `program` is another one than usual, beside the same apiserver. */
  async start(
    cluster: Cluster,
    options: {
      readonly manifests: readonly Manifest[];
      readonly setup: Setup;
      readonly program?: ProxyProgram;
    },
  ): Promise<ApiserverProxy> {
    const node = cluster.namespace("node");
    if (!this.#joined.has(node)) {
      this.#joined.add(node);
      await this.plane.join(node, controlLink);
      await this.put({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
    }
    for (const manifest of options.manifests) await this.put(manifest);
    const files = await ProxyFiles.create(this.plane.access, settingsOf(options.setup));
    const { mode } = options.setup;
    const onNode: OnNode = (argv, stdin) => cluster.run("node", argv, stdin);
    await showBackend(onNode, mode);
    const tools = await ToolFolder.create(mode);
    const process = new ProxyProcess({
      program: options.program ?? this.#program,
      namespace: node,
      args: files.args("node"),
      env: tools.env,
    });
    await untilReady(process, { onNode, mode });
    return {
      process,
      apply: async (manifests) => {
        for (const manifest of manifests) await this.put(manifest);
      },
      remove: async (manifests) => {
        for (const manifest of manifests) await this.api.delete(manifest);
      },
      [Symbol.asyncDispose]: async () => {
        await process[Symbol.asyncDispose]();
        await files[Symbol.asyncDispose]();
        await tools[Symbol.asyncDispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }

  /** Creates or replaces, and writes the load balancer's part of the status. */
  async put(object: Manifest): Promise<void> {
    const stored = await this.#createOrUpdate(object);
    const status = object["status"];
    if (object.kind === "Service" && status !== undefined) {
      await this.api.patch(stored, { status }, "status");
    }
  }

  async #createOrUpdate(object: Manifest): Promise<ManifestObject> {
    // The apiserver made the ServiceCIDR itself, from its own flags.
    if (object.kind === "ServiceCIDR") return object;
    try {
      return await this.api.update(object);
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("NotFound"))) throw error;
      return await this.api.create(object);
    }
  }
}

function settingsOf(setup: Setup) {
  return {
    mode: setup.mode.kind,
    nodePortAddresses: setup.nodePortAddresses === "all" ? ["0.0.0.0/0", "::/0"] : ["primary"],
    detectLocalMode: setup.detectLocal === "none" ? "" : "ClusterCIDR",
    clusterCIDR: setup.detectLocal === "none" ? "" : `${podCIDRs.IPv4},${podCIDRs.IPv6}`,
    masqueradeAll: setup.masqueradeAll,
    ...(setup.excludeCIDRs ? { excludeCIDRs: setup.excludeCIDRs } : {}),
  };
}

/**
 * Our program says when it is. Upstream's says that it is healthy before its first sync, syncs each
 * family by itself, and learns of zone and service ranges a little later: its rules are ready when
 * they are there and rest.
 */
async function untilReady(
  process: ProxyProcess,
  { onNode, mode }: { readonly onNode: OnNode; readonly mode: RuleMode },
): Promise<void> {
  if (process.program.name === "ours") return await process.inSync(SYNC_DEADLINE_MS);
  const deadline = Date.now() + SYNC_DEADLINE_MS;
  let before = "";
  let restingSince = Infinity;
  while (Date.now() < deadline) {
    const listings = await Promise.all(
      // A table that is not there yet cannot be listed.
      ipFamilies.map((family) => listRules(onNode, mode, family).catch(() => "")),
    );
    const complete = listings.every((text) => isOfService[mode.kind].test(text));
    const now = listings.join("");
    if (!complete || now !== before) restingSince = Date.now();
    if (Date.now() - restingSince > REST_MS) return;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(
    `Cannot start upstream's kube-proxy: its rules do not come to rest:\n${process.log()}`,
  );
}

/** What a listing holds when upstream's proxy has written some Service. */
const isOfService: Readonly<Record<RuleMode["kind"], RegExp>> = {
  nftables: /service-[^-]+-shop/,
  iptables: /-A KUBE-SVC-/,
  ipvs: /^ipvsadm -a /m,
};
