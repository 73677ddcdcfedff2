import assert from "node:assert/strict";
import type { Fact } from "../../../../lib/doctor/fact.ts";
import { foundModeReader } from "../../../../lib/doctor/facts/found_mode.ts";
import type { FoundMode } from "../../../../lib/doctor/facts/fact_values.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import type { ModeLeftovers } from "../../../../lib/writers/leftovers.ts";
import { FactsInMemory } from "../facts_in_memory.ts";

interface Setup {
  readonly running?: string;
  readonly page?: string;
  readonly configured?: string;
  /** By mode: an object, or the error of whoever looks. */
  readonly left?: Readonly<Record<string, string | Error>>;
}

async function read({ configured = "", left = {}, page, running }: Setup) {
  const doors = Object.entries(left).map((
    [mode, object],
  ): [string, () => Promise<ModeLeftovers>] => [
    mode,
    () =>
      Promise.resolve({
        find: () => {
          if (object instanceof Error) return Promise.reject(object);
          return Promise.resolve(
            object === "" ? [] : [{ mode, backend: mode, family: "IPv4", objects: [object] }],
          );
        },
        removal: { plan: unasked, apply: unasked },
      }),
  ]);
  const reader = foundModeReader({
    runningMode: () =>
      Promise.resolve(page === undefined ? undefined : { mode: running, sign: page }),
    configured: { mode: configured, path: "/etc/proxy.yaml" },
    leftovers: new Map(doors),
    kernel: new FakeKernel(),
  });
  const facts = new FactsInMemory();
  return await reader.read({ signal: new AbortController().signal, facts });
}

const unasked = () => Promise.reject(new Error("nobody should ask"));
const page = "answers at http://127.0.0.1:10249/proxyMode";
const value = (mode: FoundMode["mode"], where: string): Fact<FoundMode> => ({
  kind: "value",
  value: { mode, where, isRunning: where === page },
});

const rows: readonly (readonly [string, Setup, Fact<FoundMode>])[] = [
  [
    "a proxy that runs decides",
    { running: "ipvs", page, configured: "iptables", left: { nftables: "table ip kube-proxy" } },
    value("ipvs", page),
  ],
  [
    "else the configuration, also beside a proxy that does not tell",
    { page, configured: "iptables", left: { nftables: "table ip kube-proxy" } },
    value("iptables", "/etc/proxy.yaml"),
  ],
  [
    "else what was left",
    { left: { iptables: "chain ip nat KUBE-SERVICES" } },
    value("iptables", "chain ip nat KUBE-SERVICES"),
  ],
  [
    "of two, the one that has to go first",
    { left: { nftables: "table ip kube-proxy", ipvs: "link kube-ipvs0" } },
    value("ipvs", "link kube-ipvs0"),
  ],
  [
    "a mode that cannot be asked keeps no other from it",
    { left: { ipvs: new Error("no right"), nftables: "table ip kube-proxy" } },
    value("nftables", "table ip kube-proxy"),
  ],
  [
    "a mode of another platform is none",
    { configured: "kernelspace", left: { ipvs: "" } },
    { kind: "absent", because: "no proxy answers, no --config, and no rules were left" },
  ],
  [
    "where one could not be asked, nothing found is not nothing there",
    { left: { ipvs: new Error("no right"), nftables: "" } },
    { kind: "unknown", because: "no right" },
  ],
];

for (const [name, setup, expected] of rows) {
  Deno.test(`the mode of a node: ${name}`, async () => {
    assert.deepEqual(await read(setup), expected);
  });
}
