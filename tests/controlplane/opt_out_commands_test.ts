/** `namespaces opt-out | opt-in | list` against a real apiserver: what is written, by whom, and what is refused. */
import assert from "node:assert/strict";
import { commandTree } from "../../cmd/commands.ts";
import { type Ran, runProgram } from "../cmd/surroundings.ts";
import { ApiClient, type ManifestObject } from "./rig/api.ts";
import type { ControlPlaneAccess } from "./rig/control_plane.ts";
import { endpointSliceObject, namespaceObject, serviceObject } from "./rig/objects.ts";
import { sharedControlPlane } from "./rig/shared.ts";

const label = "networking.k8s.io/kube-proxy";
const prefix = `commands-${crypto.randomUUID().slice(0, 8)}`;
const named = (name: string) => `${prefix}-${name}`;

function kubeconfigText({ url, caCertificate }: ControlPlaneAccess, token: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "test",
      cluster: { server: url, "certificate-authority-data": btoa(caCertificate) },
    }],
    users: [{ name: "user", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "user" } }],
    "current-context": "test",
  });
}

/** What the API holds of a namespace, as far as the tests look. */
interface StoredNamespace extends ManifestObject {
  readonly metadata: ManifestObject["metadata"] & {
    readonly managedFields: readonly { readonly manager: string; readonly operation: string }[];
  };
}

// The clients live as long as the process that a command runs in.
Deno.test(
  { name: "namespaces commands on a real apiserver", sanitizeResources: false },
  async (test) => {
    const access = await sharedControlPlane();
    using api = new ApiClient(access);
    const folder = await Deno.makeTempDir({ prefix: "kpt-commands-" });
    const [admin, proxy] = [`${folder}/admin`, `${folder}/proxy`];
    await Deno.writeTextFile(admin, kubeconfigText(access, access.adminToken));
    await Deno.writeTextFile(proxy, kubeconfigText(access, access.proxyToken));
    const run = (words: readonly string[], kubeconfig = admin): Promise<Ran> =>
      runProgram(["namespaces", ...words, `--kubeconfig=${kubeconfig}`], commandTree);
    const stored = (name: string): Promise<StoredNamespace> =>
      api.request("GET", `/api/v1/namespaces/${name}`);
    const valueOf = async (name: string) => (await stored(name)).metadata.labels?.[label];
    const shop = named("shop");
    await fillShop(api, shop);

    await test.step("opt-out --dry-run shows what stops and changes nothing", async () => {
      const { exitCode, stdout, stderr } = await run(["opt-out", shop, "--dry-run"]);
      assert.equal(stderr, "");
      assert.equal(exitCode, 0);
      assert.match(stdout, /Services +3: 1 ClusterIP, 1 LoadBalancer, 1 NodePort/);
      assert.match(stdout, /node ports +2: /);
      assert.match(stdout, /load balancer IPs +1: 203\.0\.113\.7/);
      assert.match(stdout, /external IPs +1: 198\.51\.100\.7/);
      assert.match(stdout, /session affinity +1 Service/);
      assert.match(stdout, /endpoints +3/);
      assert.match(stdout, /saved per node +5 objects/);
      assert.match(stdout, /Upstream's kube-proxy does not know the label/);
      assert.match(stdout, /would be opted out \(dry run\)/);
      assert.equal(await valueOf(shop), undefined);
    });

    await test.step("without a terminal and without --yes nothing changes", async () => {
      const { exitCode, stdout, stderr } = await run(["opt-out", shop]);
      assert.equal(exitCode, 1);
      assert.match(stdout, /what stops on every node/);
      assert.match(stderr, /Nothing was changed: there is no terminal to ask on; give --yes/);
      assert.equal(await valueOf(shop), undefined);
    });

    await test.step("opt-out applies the label as its own field manager", async () => {
      const { exitCode, stdout } = await run(["opt-out", shop, "--yes", "-o", "json"]);
      assert.equal(exitCode, 0);
      const [namespace] = JSON.parse(stdout).namespaces;
      assert.equal(namespace.result, "changed");
      assert.deepEqual(namespace.managers, ["kube-proxy-namespaces"]);
      assert.equal(await valueOf(shop), "disabled");
      const { metadata: { managedFields } } = await stored(shop);
      const entry = managedFields.find(({ manager }) => manager === "kube-proxy-namespaces");
      assert.equal(entry?.operation, "Apply");
    });

    await test.step("already out: said, with since when, and exit code 0", async () => {
      const { exitCode, stdout } = await run(["opt-out", shop, "--yes"]);
      assert.equal(exitCode, 0);
      assert.match(
        stdout,
        /nothing to do, it is out already since \d{4}-.*Z, by "kube-proxy-namespaces"/,
      );
    });

    await test.step("list tells since when and by whom, or that it is unknown", async () => {
      await api.create(namespaceObject(named("mixed"), { team: "a" }));
      const patch = { metadata: { labels: { [label]: "disabled", team: "b" } } };
      // In the same second as the creation nothing could be told apart.
      await until(() => Promise.resolve(Date.now() % 1000 > 950));
      await api.patch(namespaceObject(named("mixed")), patch);
      await api.create(namespaceObject(named("odd"), { [label]: "Disabled" }));
      const { exitCode, stdout } = await run(["list"]);
      assert.equal(exitCode, 0);
      assert.match(stdout, new RegExp(`${shop} +\\d{4}-\\S+Z +kube-proxy-namespaces +3 +3\\n`));
      assert.match(stdout, new RegExp(`${named("odd")}: the value "Disabled" .* means nothing`));
      const json = JSON.parse((await run(["list", "-o", "json"])).stdout);
      assert.equal(json.schemaVersion, 1);
      const mine = json.namespaces.find(({ name }: { name: string }) => name === shop);
      assert.deepEqual(mine.inventory.savedPerNode, { objects: 5, frontends: 7, endpoints: 3 });
    });

    await test.step("opt-in removes the label, whoever set it, and warns of another manager", async () => {
      const { exitCode, stdout } = await run(["opt-in", shop, named("mixed"), "--yes"]);
      assert.equal(exitCode, 0, stdout);
      assert.match(stdout, /its label was set by .*, which may set it again/);
      assert.equal(await valueOf(shop), undefined);
      assert.equal(await valueOf(named("mixed")), undefined);
      const again = await run(["opt-in", shop, "--yes"]);
      assert.equal(again.exitCode, 0);
      assert.match(again.stdout, /nothing to do, it is not out/);
    });

    await test.step("a value other than disabled that somebody else set is refused and explained", async () => {
      const { exitCode, stderr } = await run(["opt-out", named("odd"), "--yes"]);
      assert.equal(exitCode, 1);
      assert.match(
        stderr,
        /its label .* has the value "Disabled" and belongs to the field manager/,
      );
      assert.equal(await valueOf(named("odd")), "Disabled");
    });

    await test.step("one unknown name keeps all of them as they are", async () => {
      const { exitCode, stderr } = await run(["opt-out", shop, `${shop}x`, "--yes"]);
      assert.equal(exitCode, 1);
      assert.match(
        stderr,
        new RegExp(`"${shop}x": there is no such namespace; did you mean "${shop}"`),
      );
      assert.equal(await valueOf(shop), undefined);
    });

    await test.step("default and kube-system need --force", async () => {
      const { exitCode, stderr } = await run(["opt-out", "default", "kube-system", "--yes"]);
      assert.equal(exitCode, 1);
      assert.match(stderr, /Cannot opt out "default": it holds the Service "kubernetes"/);
      assert.match(stderr, /Cannot opt out "kube-system": it usually holds the cluster's DNS/);
      const forced = await run(["opt-out", "default", "--dry-run", "--force"]);
      assert.equal(forced.exitCode, 0, forced.stderr);
      assert.match(forced.stdout, /Note: forced, although it holds/);
    });

    await test.step("forbidden: one sentence and the role to grant, which is enough", async () => {
      const { exitCode, stderr } = await run(["opt-out", shop, "--yes"], proxy);
      assert.equal(exitCode, 1);
      assert.match(
        stderr,
        /^Error: .*forbidden.*; the role below grants what this command needs\n/i,
      );
      assert.match(stderr, /kind: ClusterRole\n/);
      await grant(api, stderr.slice(stderr.indexOf("\n") + 1));
      await until(async () => (await run(["opt-out", shop, "--yes"], proxy)).exitCode === 0);
      assert.equal(await valueOf(shop), "disabled");
      await ungrant(api);
    });

    await Deno.remove(folder, { recursive: true });
    for (const name of ["shop", "mixed", "odd"]) await api.delete(namespaceObject(named(name)));
  },
);

async function fillShop(api: ApiClient, namespace: string): Promise<void> {
  await api.create(namespaceObject(namespace));
  await api.create(serviceObject({
    namespace,
    name: "cluster",
    spec: { sessionAffinity: "ClientIP", externalIPs: ["198.51.100.7"] },
  }));
  await api.create(serviceObject({ namespace, name: "node", spec: { type: "NodePort" } }));
  const balanced = serviceObject({ namespace, name: "balanced", spec: { type: "LoadBalancer" } });
  await api.create(balanced);
  const status = { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] } };
  await api.patch(balanced, { status }, "status");
  const addresses = ["10.128.0.2", "10.128.0.3"];
  await api.create(endpointSliceObject({ namespace, name: "cluster", addresses }));
  await api.create(endpointSliceObject({ namespace, name: "node", addresses: ["10.128.0.4"] }));
}

const roleName = "kube-proxy:namespaces-opt-out";

/** Grants what was printed, but for the name exactly. */
async function grant(api: ApiClient, printed: string): Promise<void> {
  const { parse } = await import("yaml");
  const role: ManifestObject = parse(printed);
  assert.equal(role.metadata.name, roleName);
  await api.create(role);
  await api.create(binding);
}

async function ungrant(api: ApiClient): Promise<void> {
  await api.delete(binding);
  await api.delete({ ...binding, kind: "ClusterRole" });
}

const binding: ManifestObject = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: roleName },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: roleName },
  subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "system:kube-proxy" }],
};

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!await condition()) {
    assert.ok(Date.now() < deadline, "not in 10 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
