/** The control plane that runs outside, as the tests in a guest see it. */
import { ApiClient } from "../../controlplane/rig/api.ts";
import type { ControlPlaneAccess } from "../../controlplane/rig/control_plane.ts";
import { enterNamespace } from "../../controlplane/rig/network.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import type { JoinableControlPlane } from "../../kernel/rig/programmers/apiserver.ts";

/** What QEMU made the guest's only link. */
const link = "eth0";

/** Runs a program where the link is while no node has it, wherever the calling thread is. */
function outsideOfNodes(argv: readonly string[]): Promise<string> {
  return runCommand(["nsenter", "--target", "1", "--net", ...argv]);
}

/** A guest has one way out, which belongs to one node at a time. */
export class GuestPlane implements JoinableControlPlane {
  readonly access: ControlPlaneAccess;
  /** Where the link is now, and what it is called there. */
  #joined: { readonly node: string; readonly device: string } | undefined;

  readonly #keepsObjects: boolean;

  private constructor(access: ControlPlaneAccess, keepsObjects: boolean) {
    this.access = access;
    this.#keepsObjects = keepsObjects;
  }

  /** The one that this guest was started with; its Services go when a node joins, unless they are kept. */
  static async open({ keepsObjects = false } = {}): Promise<GuestPlane> {
    const drive = Deno.env.get("KUBE_PROXY_TEST_CONTROL_PLANE");
    if (drive === undefined) throw new Error("Cannot reach an apiserver: this guest has none");
    const text = new TextDecoder().decode(await Deno.readFile(drive));
    // The drive is as long as whole sectors.
    return new GuestPlane(JSON.parse(text.replaceAll("\0", "")), keepsObjects);
  }

  async join(
    node: string,
    { index, device }: { readonly index: number; readonly device: string },
  ): Promise<void> {
    await outsideOfNodes(["ip", "link", "set", link, "netns", node, "name", device]);
    this.#joined = { node, device };
    await runCommand(["ip", "-n", node, "address", "add", `192.168.0.${index}/16`, "dev", device]);
    await runCommand(["ip", "-n", node, "link", "set", device, "up"]);
    enterNamespace(node);
    if (!this.#keepsObjects) await this.#forget();
  }

  /** What the test before left behind. */
  async #forget(): Promise<void> {
    using api = new ApiClient(this.access);
    await api.request("DELETE", "/api/v1/namespaces/shop/services");
    await api.request("DELETE", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices");
  }

  /** The next test finds the link where this one did. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#joined === undefined) return;
    const { node, device } = this.#joined;
    await runCommand(["ip", "-n", node, "link", "set", device, "netns", "1", "name", link]);
  }
}
