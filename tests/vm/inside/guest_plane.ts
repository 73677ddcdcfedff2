/** The control plane that runs outside, as the tests in a guest see it. */
import { ApiClient } from "../../controlplane/rig/api.ts";
import type { ControlPlaneAccess } from "../../controlplane/rig/control_plane.ts";
import { enterNamespace } from "../../controlplane/rig/network.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import type { JoinableControlPlane } from "../../kernel/rig/programmers/apiserver.ts";

/** What QEMU made the guest's only link. */
const link = "eth0";

/**
 * A guest has one way out, which belongs to one node at a time. It comes back by itself when that
 * node's namespace goes.
 */
export class GuestPlane implements JoinableControlPlane {
  readonly access: ControlPlaneAccess;

  private constructor(access: ControlPlaneAccess) {
    this.access = access;
  }

  /** The one that this guest was started with. */
  static async open(): Promise<GuestPlane> {
    const drive = Deno.env.get("KUBE_PROXY_TEST_CONTROL_PLANE");
    if (drive === undefined) throw new Error("Cannot reach an apiserver: this guest has none");
    const text = new TextDecoder().decode(await Deno.readFile(drive));
    // The drive is as long as whole sectors.
    return new GuestPlane(JSON.parse(text.replaceAll("\0", "")));
  }

  async join(
    node: string,
    { index, device }: { readonly index: number; readonly device: string },
  ): Promise<void> {
    await runCommand(["ip", "link", "set", link, "netns", node, "name", device]);
    await runCommand(["ip", "-n", node, "address", "add", `192.168.0.${index}/16`, "dev", device]);
    await runCommand(["ip", "-n", node, "link", "set", device, "up"]);
    enterNamespace(node);
    await this.#forget();
  }

  /** What the test before left behind. */
  async #forget(): Promise<void> {
    using api = new ApiClient(this.access);
    await api.request("DELETE", "/api/v1/namespaces/shop/services");
    await api.request("DELETE", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices");
  }

  /** It is not this guest's to end. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
