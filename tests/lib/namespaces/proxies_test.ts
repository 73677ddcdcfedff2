import assert from "node:assert/strict";
import { countProxies, readNodeProxies } from "../../../lib/namespaces/proxies.ts";

function pod(nodeName: string | undefined, args: readonly string[], image = "proxy:1") {
  return { spec: { nodeName, containers: [{ name: "kube-proxy", image, args }] } };
}

const cases: readonly { readonly args: readonly string[]; readonly honours: string }[] = [
  { args: ["--config=/etc/kube-proxy/config.conf"], honours: "unknown" },
  { args: ["--namespace-opt-out"], honours: "yes" },
  { args: ["--namespace-opt-out=true"], honours: "yes" },
  { args: ["--namespace-opt-out=false"], honours: "no" },
  { args: ["--namespace-opt-out=true", "--namespace-opt-out=0"], honours: "no" },
  { args: ["--namespace-opt-out-delay=2s"], honours: "unknown" },
];

Deno.test("readNodeProxies() believes the flag that only this program has", async (test) => {
  for (const { args, honours } of cases) {
    await test.step(args.join(" "), () => {
      const [proxy] = readNodeProxies({ items: [pod("node-1", args)] });
      assert.equal(proxy.honours, honours);
    });
  }
});

Deno.test("readNodeProxies() leaves out pods without a node", () => {
  assert.deepEqual(readNodeProxies({ items: [pod(undefined, [])] }), []);
});

Deno.test("countProxies() names the images of those that cannot be told", () => {
  const proxies = readNodeProxies({
    items: [
      pod("node-1", ["--namespace-opt-out"]),
      pod("node-2", [], "b:1"),
      pod("node-3", [], "a:1"),
      pod("node-4", [], "b:1"),
    ],
  });
  assert.deepEqual(countProxies(proxies), {
    total: 4,
    yes: 1,
    no: 0,
    unknown: 3,
    unknownImages: ["a:1", "b:1"],
  });
});
