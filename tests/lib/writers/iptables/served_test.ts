import assert from "node:assert/strict";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import type { XtMatch, XtRule, XtTarget } from "../../../../lib/kernel/xtables/rules.ts";
import type { XtBackend } from "../../../../lib/kernel/xtables/xtables.ts";
import { leftovers } from "../../../../lib/writers/iptables/leftovers.ts";
import { served } from "../../../../lib/writers/iptables/served.ts";

const { signal } = new AbortController();
const services = { table: "nat", chain: "KUBE-SERVICES" } as const;
const svc: XtTarget = { kind: "jump", chain: "KUBE-SVC-AAAA" };

function rule(cidr: string, ports: XtMatch | undefined, rest: Partial<XtRule> = {}): XtRule {
  const comment: XtMatch = { kind: "comment", text: "test/web cluster IP" };
  return {
    destination: { cidr },
    ...(ports?.kind === "ports" ? { protocol: ports.protocol } : {}),
    matches: [comment, ...(ports ? [ports] : [])],
    target: svc,
    ...rest,
  };
}

const tcp = (destination: number): XtMatch => ({ kind: "ports", protocol: "tcp", destination });

async function kernelWith(backend: XtBackend, rules: readonly XtRule[]): Promise<FakeKernel> {
  const kernel = new FakeKernel();
  if (backend === "legacy") {
    kernel.legacyTables.tables.set("IPv4 nat", { bytes: 4_096, entries: 12 });
  }
  if (backend === "nft") {
    await kernel.tables.commit({ family: "ip", name: "nat" }, [{ kind: "add-table" }]);
  }
  await (await kernel.xtables(backend)).commit("IPv4", [
    { kind: "add-table", table: "nat" },
    { kind: "add-chain", ...services },
    ...["KUBE-SVC-AAAA", "KUBE-EXT-AAAA", "KUBE-FW-AAAA", "KUBE-SVL-AAAA", "KUBE-MARK-MASQ"].map(
      (chain) => ({ kind: "add-chain", table: "nat", chain } as const),
    ),
    ...rules.map((rule) => ({ kind: "append-rule", ...services, rule } as const)),
  ]);
  return kernel;
}

for (const backend of ["nft", "legacy"] as const) {
  Deno.test(`served() reads the rules of ${backend} that lead to a Service`, async () => {
    const kernel = await kernelWith(backend, [
      rule("172.30.0.1/32", tcp(443)),
      rule("172.30.0.10/32", { kind: "ports", protocol: "udp", destination: 53 }),
      rule("198.51.100.1/32", tcp(80), { target: { kind: "jump", chain: "KUBE-EXT-AAAA" } }),
      rule("203.0.113.1/32", tcp(80), { target: { kind: "jump", chain: "KUBE-FW-AAAA" } }),
      rule("172.30.0.2/32", tcp(80), { target: { kind: "jump", chain: "KUBE-SVL-AAAA" } }),
      rule("172.30.0.3/32", tcp(80), { target: { kind: "jump", chain: "KUBE-MARK-MASQ" } }),
      rule("172.30.0.4/32", tcp(80), { target: { kind: "accept" } }),
      rule("172.30.0.0/16", tcp(80)),
      rule("172.30.0.5/32", undefined),
      rule("172.30.0.6/32", tcp(80), { destination: { cidr: "172.30.0.6/32", not: true } }),
    ]);
    assert.deepEqual(
      (await served(kernel, signal)).map(({ ip, port, protocol }) => `${ip}:${port}/${protocol}`),
      [
        "172.30.0.1:443/TCP",
        "172.30.0.10:53/UDP",
        "198.51.100.1:80/TCP",
        "203.0.113.1:80/TCP",
        "172.30.0.2:80/TCP",
      ],
    );
  });
}

Deno.test("served() asks no table that is not there", async () => {
  const kernel = new FakeKernel();
  kernel.rules.legacy.read = () => Promise.reject(new Error("asked"));
  kernel.rules.nft.read = () => Promise.reject(new Error("asked"));
  assert.deepEqual(await served(kernel, signal), []);
});

Deno.test("served() tells nothing of rules that stand aside for another mode", async () => {
  const kernel = await kernelWith("nft", [rule("172.30.0.1/32", tcp(443))]);
  const found = [{ mode: "iptables", backend: "nft", family: "IPv4", objects: [] }] as const;
  assert.equal((await served(kernel, signal)).length, 1);
  assert.equal((await leftovers.standAside?.(kernel, { found, signal }))?.length, 1);
  assert.deepEqual(await served(kernel, signal), []);
});
