/** `doctor`, as a process, on a node with rules of everybody: afterwards all is as it was, killed or not. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { openNftablesInThread } from "../../../lib/kernel/nftables/netlink_nftables.ts";
import { tryCommand } from "../rig/command.ts";
import { ourProgramArgv } from "../rig/our_program.ts";
import { XtNamespace } from "../xtables/namespace.ts";

const shop = new URL("../../../examples/shop", import.meta.url).pathname;
const kills = Deno.env.get("KUBE_PROXY_TEST_FULL") === undefined ? 4 : 40;
/** Longer than a run takes. */
const longestRunMs = 1_500;

const rules = `*nat
:KUBE-SERVICES - [0:0]
:KUBE-SVC-AAAA - [0:0]
-A PREROUTING -j KUBE-SERVICES
-A KUBE-SERVICES -d 192.0.2.99/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-AAAA
-A KUBE-SVC-AAAA -p tcp -m tcp -j DNAT --to-destination 10.128.0.9:80
COMMIT
`;
const others = "table inet somebody {\n chain c {\n type filter hook input priority 5;\n }\n}\n";

interface Node extends AsyncDisposable {
  readonly argv: readonly string[];
  state(): Promise<string>;
  /** Names of the modules that are loaded; none where the kernel has none. */
  modules(): Promise<string>;
}

async function createNode(): Promise<Node> {
  const namespace = await XtNamespace.create();
  const { name } = namespace;
  await namespace.run(["ip", "link", "set", "lo", "up"]);
  await namespace.restore(rules, { backend: "nft", family: "IPv4" });
  await namespace.restore(rules, { backend: "legacy", family: "IPv4" });
  await namespace.run(["nft", "-f", "-"], others);
  const nftables = inNetworkNamespace(`/run/netns/${name}`, () => openNftablesInThread());
  const look = async () =>
    [
      await nftables.generation(),
      await namespace.run(["nft", "-a", "list", "ruleset"]),
      ...await Promise.all((["nft", "legacy"] as const).flatMap((backend) =>
        ipFamilies.map((family) => namespace.save({ backend, family }))
      )),
      await namespace.run(["ip", "-d", "addr"]),
      await namespace.run(["ip", "route", "show", "table", "all"]),
      await namespace.run([
        "sh",
        "-c",
        "cd /proc/sys/net && grep -rs . ipv4 ipv6 netfilter | sort",
      ]),
      await namespace.run(["sh", "-c", "cat /proc/modules 2>/dev/null; ls /run/netns | grep -c ."])
        .then((text) =>
          text.replace(/\d+\s*$/, "")
        ),
    ].join("\n");
  return {
    argv: ["ip", "netns", "exec", name, ...ourProgramArgv(), "doctor"],
    state: async () =>
      (await look()).replaceAll(/counter packets \d+ bytes \d+/g, "counter")
        // How many connections there are now is no setting.
        .replaceAll(/^netfilter\/nf_conntrack_count:.*$/gm, ""),
    modules: () => namespace.run(["sh", "-c", "cut -d ' ' -f 1 /proc/modules 2>/dev/null || true"]),
    [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose](),
  };
}

Deno.test("doctor leaves a node as it found it, and tells what only the old rules serve", async () => {
  await using node = await createNode();
  const before = await node.state();
  const modules = await node.modules();
  const args = ["--manifests", shop, "--skip", "NET05"];
  const { code, stderr, stdout } = await tryCommand([...node.argv, ...args]);
  assert.equal(await node.state(), before);
  assert.equal(await node.modules(), modules, stdout);
  assert.match(stdout, /DRY01 {2}rehearse/, stderr);
  assert.match(stdout, /These would stop answering: 192\.0\.2\.99:80\/TCP/);
  assert.match(stdout, /These would begin to answer: /);
  assert.match(stdout, /packets to all \d+ frontends in \d+ ms: all as they should/);
  assert.match(stdout, / from iptables \(chain ip nat KUBE-SERVICES\) to nftables/);
  assert.ok(code === 0 || code === 1, `${code}`);
});

// Modules that a killed one made the kernel load stay: nobody is there to unload them.
Deno.test(`doctor that is killed ${kills} times leaves nothing`, async () => {
  await using node = await createNode();
  const before = await node.state();
  const [program, ...args] = [...node.argv, "--manifests", shop];
  for (let kill = 0; kill < kills; kill++) {
    const process = new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
    const afterMs = (longestRunMs * (kill + 1)) / (kills + 1);
    const timer = setTimeout(() => {
      try {
        process.kill(kill % 2 === 0 ? "SIGKILL" : "SIGINT");
      } catch {
        // It has ended by itself.
      }
    }, afterMs);
    await process.status;
    clearTimeout(timer);
    assert.equal(await node.state(), before, `after ${afterMs} ms`);
  }
});
