import assert from "node:assert/strict";
import { scanFlags } from "../../../lib/base/flag_scan.ts";
import {
  configurationFlagsGiven,
  configurationFromFlags,
  equivalentFields,
  overlayFlags,
  runFlags,
  shownFlags,
} from "../../../lib/config/flags.ts";
import { flagGroups } from "../../../lib/config/flags_define.ts";
import { internalDefaults } from "../../../lib/config/internal.ts";
import { applyPlatformDefaults } from "../../../lib/config/platform_defaults.ts";
import { readRecord } from "../../peers/flag_record.ts";

/** Flags that upstream does not have. */
const own = new Set(runFlags.filter(({ scope }) => scope === "own").map(({ name }) => name));

Deno.test("shownFlags() prints every flag of upstream and its value as upstream does", async (t) => {
  const { dumps } = await readRecord();
  for (const { args, flags } of dumps) {
    await t.step(args.join(" ") || "no flags", () => {
      const scanned = scanFlags(["-v=1", "--write-config-to=/dev/null", ...args], runFlags);
      const configuration = applyPlatformDefaults(configurationFromFlags(scanned), "iptables");
      const shown = shownFlags(scanned, configuration)
        .filter(([name]) => !own.has(name))
        .map(([name, value]) => `--${name}=${JSON.stringify(value)}`);
      assert.deepEqual(shown, flags);
    });
  }
});

Deno.test("shownFlags() prints what was given beside --config", () => {
  const scanned = scanFlags(["--config=x", "--proxy-mode=ipvs"], runFlags);
  const shown = new Map(shownFlags(scanned, { ...internalDefaults(), mode: "nftables" }));
  assert.deepEqual([shown.get("config"), shown.get("proxy-mode")], ["x", "ipvs"]);
});

Deno.test("every flag has a heading, a summary and a name of its own", () => {
  assert.equal(new Set(runFlags.map(({ name }) => name)).size, runFlags.length);
  for (const { name, heading, summary } of runFlags) {
    assert.ok(flagGroups.some((group) => group === heading), name);
    assert.match(summary, /^[^A-Z].*[^.]$/, name);
  }
});

const equivalents: readonly { args: string; fields: unknown }[] = [
  { args: "", fields: {} },
  {
    args: "--proxy-mode=ipvs --ipvs-scheduler=sh",
    fields: { ipvs: { scheduler: "sh" }, mode: "ipvs" },
  },
  {
    args: "--cluster-cidr=10.128.0.0/14,fd00:10:128::/48",
    fields: { detectLocal: { clusterCIDRs: ["10.128.0.0/14", "fd00:10:128::/48"] } },
  },
  {
    args: "--conntrack-udp-timeout=90s",
    fields: { linux: { conntrack: { udpTimeout: "1m30s" } } },
  },
  { args: "--bind-address=192.168.0.7", fields: { nodeIPOverride: ["192.168.0.7"] } },
  { args: "--bind-address=0.0.0.0", fields: {} },
  { args: "--iptables-min-sync-period=5s", fields: { minSyncPeriod: "5s" } },
  { args: "--hostname-override=x -v4 --once", fields: {} },
];

Deno.test("equivalentFields() says what a file would", async (t) => {
  for (const { args, fields } of equivalents) {
    await t.step(args || "nothing", () => {
      const scanned = scanFlags(args.split(" ").filter((arg) => arg !== ""), runFlags);
      assert.deepEqual(equivalentFields(scanned), fields);
    });
  }
});

Deno.test("overlayFlags() lets through what holds beside --config, and nothing else", () => {
  const given =
    "--hostname-override=Node-A -v3 --iptables-backend=nft --proxy-mode=ipvs --masquerade-all";
  const scanned = scanFlags(given.split(" "), runFlags);
  const before = internalDefaults();
  assert.deepEqual(overlayFlags(before, scanned), {
    ...before,
    hostnameOverride: "node-a",
    logging: { ...before.logging, verbosity: 3 },
    iptables: { ...before.iptables, backend: "nft" },
  });
  const names = configurationFlagsGiven(scanned).map(({ name }) => name);
  assert.deepEqual(names, ["masquerade-all", "proxy-mode"]);
});

const ports: readonly { args: string; healthz: string; metrics: string }[] = [
  { args: "", healthz: "0.0.0.0:10256", metrics: "127.0.0.1:10249" },
  { args: "--healthz-port=0", healthz: "", metrics: "127.0.0.1:10249" },
  { args: "--metrics-port=0", healthz: "0.0.0.0:10256", metrics: "" },
  {
    args: "--healthz-port=9 --metrics-port=9",
    healthz: "0.0.0.0:10256",
    metrics: "127.0.0.1:10249",
  },
  {
    args: "--healthz-bind-address=127.0.0.1",
    healthz: "127.0.0.1:10256",
    metrics: "127.0.0.1:10249",
  },
  {
    args: "--healthz-bind-address=::1 --healthz-port=9",
    healthz: "[::1]:9",
    metrics: "127.0.0.1:10249",
  },
  { args: "--metrics-bind-address=::1:9", healthz: "0.0.0.0:10256", metrics: "[::1:9]:10249" },
];

Deno.test("ports of flags that go away count where an address has none", async (t) => {
  for (const { args, healthz, metrics } of ports) {
    await t.step(args || "no flags", () => {
      const scanned = scanFlags(args.split(" ").filter((arg) => arg !== ""), runFlags);
      const { healthzBindAddress, metricsBindAddress } = configurationFromFlags(scanned);
      assert.deepEqual([healthzBindAddress, metricsBindAddress], [healthz, metrics]);
    });
  }
});
