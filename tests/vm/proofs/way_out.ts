/**
 * Out of ipvs mode and back, under traffic: nftables mode beside it, a drain, ipvs mode again. Upstream's
 * own switch beside, which cuts.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { ourProgram, type ProxyProgram } from "../../controlplane/rig/proxy_process.ts";
import { type CommandResult, tryCommand } from "../../kernel/rig/command.ts";
import { ourProgramArgv } from "../../kernel/rig/our_program.ts";
import { patience } from "../../kernel/rig/patience.ts";
import { podCIDRs } from "../../scenarios/addresses.ts";
import { iptablesModes, ipvsModes, nameOfMode, nftablesMode } from "../../scenarios/setups.ts";
import { ProofNode, upstreamHasNftables, upstreams } from "../inside/proof.ts";
import { summaryOf, Traffic, type TrafficReport } from "../inside/traffic.ts";
import { tellOutside } from "../outside.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const [ipvs] = ipvsModes;
/** What who leaves upstream's ipvs mode on this kernel can start. */
const upstreamsNext = upstreamHasNftables ? nftablesMode : iptablesModes[0];
const SETTLE_MS = 2_000 * patience;
const DRAIN_DEADLINE_MS = 30_000 * patience;

if (isFull) {
  const next = nameOfMode(upstreamsNext);
  Deno.test(`upstream's switch from ipvs to ${next}: what everybody has today`, async () => {
    await using node = await ProofNode.create();
    const old = await node.start(upstreams(), ipvs);
    const traffic = await Traffic.start(node.cluster);
    await old[Symbol.asyncDispose]();
    await using _new = await node.start(upstreams(), upstreamsNext);
    await settle(traffic, `${next} has synced`);
    tell(`upstream's switch to ${next}`, await traffic.stop());
  });

  Deno.test("our nftables mode and an ordinary cleanup: what a drain spares", async () => {
    await using node = await ProofNode.create();
    const old = await node.start(ourProgram(), ipvs);
    const traffic = await Traffic.start(node.cluster);
    await old[Symbol.asyncDispose]();
    await using _new = await node.start(ourProgram(), nftablesMode);
    await settle(traffic, "nftables mode has synced");
    const { code, stdout, stderr } = await cleanUp(node, "--mode=ipvs");
    assert.equal(code, 0, stdout + stderr);
    await settle(traffic, "cleanup has ended");
    const report = await traffic.stop();
    tell("cleanup without a drain", report);
    assert.deepEqual(report.failed, {});
  });
}

for (const dropsForwarded of isFull ? [true, false] : [true]) {
  const policy = dropsForwarded ? ", what is forwarded is dropped by default" : "";
  Deno.test(`out by a drain and back again cuts nothing${policy}`, async () => {
    const report = await outAndBack({
      program: ourProgram(),
      dropsForwarded,
      kills: !dropsForwarded,
    });
    tell(`out by a drain and back again${policy}`, report);
    assert.deepEqual([report.cut, report.failed], [[], {}]);
    // One for each of both families' flows: the datagram that is under way when the new rules come.
    assert.ok(
      report.datagramsLost <= 2,
      `${report.datagramsLost} of ${report.datagrams} were lost`,
    );
  });
}

async function outAndBack(
  { program, dropsForwarded, kills }: {
    readonly program: ProxyProgram;
    readonly dropsForwarded: boolean;
    /** A first drain is killed while it waits. */
    readonly kills: boolean;
  },
): Promise<TrafficReport> {
  await using node = await ProofNode.create();
  if (dropsForwarded) await dropForwarded(node);
  const old = await node.start(program, ipvs);
  const traffic = await Traffic.start(node.cluster);
  await old[Symbol.asyncDispose]();
  const beside = await node.start(ourProgram(), nftablesMode);
  await settle(traffic, "nftables mode has synced beside ipvs");

  // Those of the node itself come from an address that goes.
  await traffic.connect({ more: true });
  if (kills) await killDrain(node, traffic);
  const draining = cleanUp(node, "--mode=ipvs", "--drain");
  await settle(traffic, "the drain waits");
  await traffic.disconnect();
  const drained = await within({ node, traffic }, draining);
  assert.equal(drained.code, 0, drained.stdout + drained.stderr);
  assert.deepEqual(await leftOfIpvs(node), []);

  await traffic.connect();
  await beside[Symbol.asyncDispose]();
  await using _again = await node.start(program, ipvs);
  await settle(traffic, "ipvs mode has synced again");
  const cleaned = await cleanUp(node, "--mode=nftables");
  assert.equal(cleaned.code, 0, cleaned.stdout + cleaned.stderr);
  await settle(traffic, "nftables mode's rules are gone");
  return await traffic.stop();
}

async function killDrain({ cluster }: ProofNode, traffic: Traffic): Promise<void> {
  const argv = [...ourProgramArgv(), "cleanup", "--mode=ipvs", "--drain"];
  const [program, ...args] = cluster.inside("node", argv);
  const servers = () => cluster.run("node", ["ipvsadm", "--save", "--numeric"]);
  const before = await servers();
  const drain = new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
  const deadline = performance.now() + DRAIN_DEADLINE_MS;
  while (await servers() === before) {
    assert.ok(performance.now() < deadline, "the drain removes nothing");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await settle(traffic, "a first drain waits");
  drain.kill("SIGKILL");
  const { signal } = await drain.status;
  assert.equal(signal, "SIGKILL", "it ended before it was killed");
}

/** A look at once, and one when whatever comes late has come. */
async function settle(traffic: Traffic, step: string): Promise<void> {
  await traffic.look(step);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  await traffic.look(`${step}, some time ago`);
}

function cleanUp(node: ProofNode, ...args: readonly string[]): Promise<CommandResult> {
  return tryCommand(node.cluster.inside("node", [...ourProgramArgv(), "cleanup", ...args]));
}

/**
 * A firewall that lets in what goes to pods and answers what was translated by rules: replies over
 * IPVS then need the rule of the proxy that is leaving.
 */
async function dropForwarded({ cluster }: ProofNode): Promise<void> {
  for (const family of ipFamilies) {
    const tool = family === "IPv4" ? "iptables-nft" : "ip6tables-nft";
    const own: readonly (readonly string[])[] = [
      ["-d", podCIDRs[family]],
      ["-m", "conntrack", "--ctstate", "DNAT"],
    ];
    for (const match of own) {
      await cluster.run("node", [tool, "-A", "FORWARD", ...match, "-j", "ACCEPT"]);
    }
    await cluster.run("node", [tool, "-P", "FORWARD", "DROP"]);
  }
}

/** Whatever a cleanup of ipvs mode removes. */
async function leftOfIpvs({ cluster }: ProofNode): Promise<readonly string[]> {
  const saves = await Promise.all([
    cluster.run("node", ["ipvsadm", "--save", "--numeric"]),
    cluster.run("node", ["ipset", "save"]),
    cluster.run("node", ["ip", "-o", "link", "show", "type", "dummy"]),
    cluster.run("node", ["iptables-nft-save"]),
    cluster.run("node", ["ip6tables-nft-save"]),
  ]);
  return saves.join("").split("\n").filter((line) =>
    /^-A|^-a|kube-ipvs0|KUBE-/.test(line) &&
    !/KUBE-IPTABLES-HINT|-A FORWARD (-d|-m conntrack)/.test(line)
  );
}

/** Waits for the end of a drain; one that goes on is told with what it waits for. */
async function within<T>(
  { node: { cluster }, traffic }: { readonly node: ProofNode; readonly traffic: Traffic },
  draining: Promise<T>,
): Promise<T> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, DRAIN_DEADLINE_MS);
  const drained = await Promise.race([draining, late.promise.then(() => undefined)]);
  clearTimeout(timer);
  if (drained !== undefined) return drained;
  const servers = await cluster.run("node", ["ipvsadm", "-L", "-n"]);
  const connections = (await cluster.run("node", ["ipvsadm", "-L", "-n", "-c"])).split("\n")
    .filter((line) => /ESTABLISHED|SYN/.test(line));
  const seen = [servers, ...connections.slice(0, 50), ...traffic.cut].join("\n");
  throw new Error(`The drain goes on after ${DRAIN_DEADLINE_MS} ms:\n${seen}`);
}

function tell(title: string, report: TrafficReport): void {
  tellOutside("measured", { title, ...summaryOf(report) });
}
