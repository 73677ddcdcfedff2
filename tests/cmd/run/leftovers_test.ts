/** What a proxy says and does about rules that another mode left. */
import assert from "node:assert/strict";
import type { ObjectEvent } from "../../../lib/base/event_sink.ts";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import type { NftTable } from "../../../lib/kernel/nftables/operations.ts";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { ConfirmOptions, Leftover, ModeLeftovers } from "../../../lib/writers/leftovers.ts";
import { LeftoverWatch } from "../../../cmd/run/leftovers.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";
import { nodeKernel, withApiserver, withManifests } from "./proxy_rig.ts";

const nat: NftTable = { family: "ip", name: "nat" };

/** A watch whose modes have what the test says. */
class Rig {
  readonly clock = new FakeClock();
  readonly logger = new FakeLogger();
  readonly kernel = new FakeKernel();
  readonly metrics = new MetricsRegistry();
  readonly events: ObjectEvent[] = [];
  /** What the state of the cluster was told, in order. */
  readonly told: boolean[] = [];
  readonly found = new Map<string, readonly Leftover[]>();
  readonly failures = new Map<string, Error>();
  looks = 0;
  confirmations = 0;
  /** The family whose rules turn out to be the mode's indeed. */
  confirmed: IpFamily | undefined = undefined;
  /** Which modes were put to sleep, for which families. */
  readonly asleep: (readonly [mode: string, ...families: readonly IpFamily[]])[] = [];
  readonly watch: LeftoverWatch;

  constructor(...modes: readonly string[]) {
    this.watch = new LeftoverWatch({
      modes: new Map(modes.map((mode) => [mode, () => Promise.resolve(this.#door(mode))])),
      runtime: {
        owns: ({ backend, mode }) => mode === "ours" && backend === "nft",
        outranks: ({ backend }) => backend === "last",
        servesBeside: ({ backend }) => backend === "nft",
        differsBeside: ({ mode }) => mode === "odd" ? ["one thing differs", "and another"] : [],
      },
      runningMode: "ours",
      kernel: this.kernel,
      state: {
        setLeftovers: (leftovers) => {
          this.told.push(leftovers);
          return true;
        },
      },
      events: { emit: (event) => this.events.push(event) },
      metrics: this.metrics,
      nodeName: "node-a",
      clock: this.clock,
      logger: this.logger,
    });
  }

  /** What everybody reads of the log. */
  get lines(): readonly string[] {
    return this.logger.lines.filter((line) => !line.startsWith("v"));
  }

  leave(mode: string, ...families: readonly IpFamily[]): void {
    this.leaveIn("nft", mode, ...families);
  }

  leaveIn(backend: string, mode: string, ...families: readonly IpFamily[]): void {
    this.found.set(
      mode,
      families.map((family) => ({ mode, backend, family, objects: [`chain of ${mode}`] })),
    );
  }

  async gauge(): Promise<readonly string[]> {
    const page = await this.metrics.expose();
    return page.split("\n").filter((line) => line.startsWith("kubeproxy_leftovers"));
  }

  #door(mode: string): ModeLeftovers {
    return {
      standAside: (_kernel, { found }) => {
        if (mode === "stubborn") return Promise.reject(new Error("no right"));
        this.asleep.push([mode, ...found.map(({ family }) => family)]);
        return Promise.resolve([`table of ${mode}`]);
      },
      ...(mode === "large" && {
        confirm: (_kernel: unknown, { found }: ConfirmOptions) => {
          this.confirmations++;
          return Promise.resolve(found.filter(({ family }) => family === this.confirmed));
        },
      }),
      removal: { plan: () => assert.fail("run removes nothing"), apply: () => assert.fail() },
      find: () => {
        this.looks++;
        const failure = this.failures.get(mode);
        return failure ? Promise.reject(failure) : Promise.resolve(this.found.get(mode) ?? []);
      },
    };
  }
}

const { signal } = new AbortController();

Deno.test("look() tells the state, the log, the Node and the metrics what is there, once", async () => {
  const rig = new Rig("old", "ours");
  rig.leave("old", "IPv4", "IPv6");
  rig.leave("ours", "IPv4");
  await rig.watch.look(signal);
  await rig.watch.look(signal);
  assert.deepEqual(rig.told, [true, true]);
  assert.equal(rig.lines.length, 1);
  assert.match(
    rig.lines[0],
    /^warning Another proxy mode left rules in this kernel: old mode \(nft, IPv4\): chain of old; old mode \(nft, IPv6\): chain of old\. Services are served as they should be/,
  );
  assert.match(rig.lines[0], /To remove them: kube-proxy cleanup --mode old$/);
  assert.deepEqual(rig.events.map(({ type, reason, about }) => [type, reason, about.name]), [
    ["Warning", "LeftoverRules", "node-a"],
  ]);
  assert.deepEqual(await rig.gauge(), ['kubeproxy_leftovers{mode="old",backend="nft"} 2']);
});

Deno.test("look() says beside which rules Services may fail, and to stop first where the mode is its own", async () => {
  const rig = new Rig("old", "ours");
  rig.leave("old", "IPv4");
  rig.leaveIn("legacy", "ours", "IPv4");
  await rig.watch.look(signal);
  assert.match(
    rig.lines[0],
    /ours mode \(legacy, IPv4\): chain of ours\. Packets meet them beside/,
  );
  assert.match(
    rig.lines[0],
    /To remove them: stop this proxy, kube-proxy cleanup --mode old; kube-proxy cleanup --mode ours, and start it again; in between no Service answers$/,
  );
  const other = new Rig("old");
  other.leaveIn("legacy", "old", "IPv4");
  await other.watch.look(signal);
  assert.match(
    other.lines[0],
    /endpoints that are gone\. To remove them: kube-proxy cleanup --mode old$/,
  );
});

Deno.test("look() names all that differs beside rules of which that is known", async () => {
  const rig = new Rig("odd");
  rig.found.set(
    "odd",
    (["IPv4", "IPv6"] as const).map((family) => (
      { mode: "odd", backend: "odd", family, objects: ["link"] }
    )),
  );
  await rig.watch.look(signal);
  assert.match(
    rig.lines[0],
    /Packets meet them beside this proxy's rules: until they are removed, one thing differs; and another\. To remove/,
  );
  const mixed = new Rig("odd", "old");
  mixed.leaveIn("odd", "odd", "IPv4");
  mixed.leaveIn("legacy", "old", "IPv4");
  await mixed.watch.look(signal);
  assert.match(mixed.lines[0], /rules: connections may go to endpoints that are gone\. To remove/);
});

Deno.test("look() takes the running mode's own rules for no leftovers", async () => {
  const rig = new Rig("ours");
  rig.leave("ours", "IPv4");
  await rig.watch.look(signal);
  assert.deepEqual([rig.told, rig.lines, rig.events], [[false], [], []]);
  assert.deepEqual(await rig.gauge(), []);
});

Deno.test("look() says a mode that cannot be asked, asks the others, and keeps what it knew", async () => {
  const rig = new Rig("old", "older");
  rig.leave("old", "IPv4");
  await rig.watch.look(signal);
  rig.failures.set("old", new Error("no buffer"));
  rig.leave("older", "IPv6");
  await rig.watch.look(signal);
  assert.deepEqual(rig.told, [true, true]);
  assert.deepEqual(rig.lines.slice(1).map((line) => line.split(":")[0]), [
    "error Cannot look for rules that another proxy mode left mode=old",
    "warning Another proxy mode left rules in this kernel",
  ]);
  assert.match(rig.lines[2], /older mode/);
});

Deno.test("look() says again what had gone and is back", async () => {
  const rig = new Rig("old");
  for (const families of [["IPv4"], [], ["IPv4"]] as const) {
    rig.leave("old", ...families);
    await rig.watch.look(signal);
  }
  assert.deepEqual(rig.lines.map((line) => line.split(" ")[0]), ["warning", "info", "warning"]);
});

Deno.test("look() says nothing of a failure that the end made", async () => {
  const rig = new Rig("old", "older");
  rig.failures.set("old", new Error("aborted"));
  await rig.watch.look(AbortSignal.abort());
  assert.deepEqual([rig.logger.lines, rig.told, rig.looks], [[], [], 2]);
});

Deno.test("look() tells how long it took", async () => {
  const rig = new Rig("old");
  await rig.watch.look(signal);
  assert.deepEqual(rig.logger.lines, [
    "v2 Looked for rules that another proxy mode left milliseconds=0",
  ]);
});

Deno.test("follow() looks when the ruleset moved, at most every 5 s, and each minute; it ends when all are gone", async () => {
  const rig = new Rig("old");
  rig.leave("old", "IPv4");
  await rig.watch.look(signal);
  let ended = false;
  const following = rig.watch.follow(signal, () => true).then(() => ended = true);
  await rig.clock.advance(59_999);
  assert.equal(rig.looks, 1);
  await rig.clock.advance(1);
  assert.equal(rig.looks, 2);
  rig.kernel.tables.moveGeneration();
  rig.kernel.tables.moveGeneration();
  await rig.clock.advance(4_999);
  assert.equal(rig.looks, 2);
  await rig.clock.advance(1);
  assert.equal(rig.looks, 3);
  await rig.clock.advance(5_000);
  assert.equal(rig.looks, 3);
  rig.leave("old");
  rig.kernel.tables.moveGeneration();
  await rig.clock.advance(5_000);
  await following;
  assert.deepEqual([ended, rig.told.at(-1)], [true, false]);
  assert.deepEqual(rig.lines.slice(1), [
    "info The rules that another proxy mode left are gone",
  ]);
});

Deno.test("follow() looks into what is too large for a start once Services are served, and once as long as it is the same", async () => {
  const rig = new Rig("large", "old");
  rig.leave("large", "IPv4", "IPv6");
  rig.confirmed = "IPv6";
  await rig.watch.look(signal);
  let isServing = false;
  let ended = false;
  const following = rig.watch.follow(signal, () => isServing).then(() => ended = true);
  await rig.clock.advance(5_000);
  assert.equal(rig.confirmations, 0);
  isServing = true;
  await rig.clock.advance(5_000);
  assert.deepEqual(await rig.gauge(), ['kubeproxy_leftovers{mode="large",backend="nft"} 1']);
  await rig.clock.advance(120_000);
  assert.equal(rig.looks, 2 * 3);
  assert.deepEqual([rig.confirmations, rig.told.at(-1), ended], [1, true, false]);
  assert.deepEqual(await rig.gauge(), ['kubeproxy_leftovers{mode="large",backend="nft"} 1']);
  rig.leave("large", "IPv4");
  await rig.clock.advance(60_000);
  await following;
  assert.deepEqual([rig.confirmations, rig.told.at(-1), ended], [2, false, true]);
  const somebody =
    "info What was taken for rules of another proxy mode is somebody else's mode=large";
  assert.deepEqual(rig.lines.slice(1), [somebody, somebody]);
  await rig.watch.standAside(["IPv4"], signal);
  assert.deepEqual(rig.asleep, []);
});

Deno.test("follow() ends at once where nothing is left, and with its signal", async () => {
  await new Rig("old").watch.follow(signal, () => true);
  const rig = new Rig("old");
  rig.leave("old", "IPv4");
  await rig.watch.look(signal);
  const stop = new AbortController();
  const following = rig.watch.follow(stop.signal, () => true);
  await rig.clock.advance(1);
  stop.abort();
  await following;
  assert.equal(rig.looks, 1);
});

for (const way of ["--once", "for good"]) {
  Deno.test(`run ${way} writes the rules that are needed beside leftovers with its first sync`, async () => {
    const kernel = nodeKernel();
    await kernel.tables.commit(nat, [
      { kind: "add-table" },
      { kind: "add-chain", chain: { name: "KUBE-SERVICES" } },
    ]);
    await withApiserver(async ({ run: start }) => {
      const run = start({ kernel, args: way === "--once" ? ["--once"] : [] });
      await run.until("rules", async () => (await run.clusterIPs()).length > 0);
      assert.match(kernel.tables.dump(), /goto keep-destination/);
      assert.match(run.stderr, /iptables mode \(nft, IPv4\): chain ip nat KUBE-SERVICES/);
    });
  });
}

Deno.test("run writes no such rules where nothing was left", () =>
  withManifests({ args: ["--once"] }, async (run) => {
    assert.equal(await run.ended(), 0);
    assert.doesNotMatch(run.kernel.tables.dump(), /goto keep-destination/);
    assert.deepEqual(run.complaints, []);
  }));

Deno.test("standAside() puts those that are there to sleep, for the families that are served, and says so", async () => {
  const rig = new Rig("stubborn", "old", "older", "ours");
  for (const mode of ["stubborn", "old", "ours"]) rig.leave(mode, "IPv4", "IPv6");
  await rig.watch.standAside(["IPv4"], signal);
  assert.deepEqual(rig.asleep, [], "nothing was looked for yet");
  await rig.watch.look(signal);
  const before = rig.lines.length;
  await rig.watch.standAside(["IPv4"], signal);
  assert.deepEqual(rig.asleep, [["old", "IPv4"]]);
  assert.deepEqual(rig.lines.slice(before).map((line) => line.split(":")[0]), [
    "error Cannot disable the rules of another proxy mode",
    "info Disabled the rules of another proxy mode, since packets met them too mode=old objects=table of old",
  ]);
  assert.match(rig.lines[before], /To remove them: kube-proxy cleanup --mode stubborn/);
  await rig.watch.standAside(["IPv4"], AbortSignal.abort());
  assert.equal(rig.asleep.length, 1);
});

Deno.test("standAside() leaves what the running mode's rules decide beside", async () => {
  const rig = new Rig("old", "behind");
  rig.leaveIn("last", "behind", "IPv4");
  rig.leave("old", "IPv4");
  await rig.watch.look(signal);
  await rig.watch.standAside(["IPv4", "IPv6"], signal);
  assert.deepEqual(rig.asleep, [["old", "IPv4"]]);
});

Deno.test("a proxy of iptables mode puts nftables mode's table to sleep once it is in sync, and nftables mode wakes it", async () => {
  const sysctl = new FakeSysctl({ "net/ipv4/conf/all/route_localnet": "0" });
  const kernel = nodeKernel({ sysctl });
  const table = { family: "ip", name: "kube-proxy" } as const;
  const isAsleep = async () => (await kernel.tables.listTable(table))?.isDormant;
  await withManifests({ kernel, args: ["--once"] }, async (run) => {
    assert.equal(await run.ended(), 0);
  });
  assert.equal(await isAsleep(), false);
  for (const args of [["--proxy-mode=iptables", "--once"], ["--proxy-mode=iptables"]]) {
    await kernel.tables.commit(table, [{ kind: "add-table" }]);
    await withManifests({ kernel, args }, async (run) => {
      await run.said("Disabled the rules of another proxy mode");
      await run.said("In sync");
      const [disabled, inSync] = ["Disabled the rules", "In sync"].map((text) =>
        run.stderr.indexOf(text)
      );
      // Nobody is told that Services work while packets meet the old rules first.
      assert.ok(args.includes("--once") || disabled < inSync, run.stderr);
    });
    assert.equal(await isAsleep(), true, args.join(" "));
  }
  await withManifests({ kernel, args: ["--once"] }, async (run) => {
    assert.equal(await run.ended(), 0);
  });
  assert.equal(await isAsleep(), false);
});
