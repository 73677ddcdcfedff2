/** Virtual servers, and the link with their addresses. Recorded in a guest, whose kernel has both. */
import assert from "node:assert/strict";
import { FakeCommands } from "../../../../lib/kernel/fake_commands.ts";
import type { IpvsChange } from "../../../../lib/kernel/ipvs/ipvs.ts";
import { NetlinkIpvs } from "../../../../lib/kernel/ipvs/netlink_ipvs.ts";
import { frontendText } from "../../../../lib/kernel/ipvs/text.ts";
import { KernelFiles } from "../../../../lib/kernel/kernel_files.ts";
import { NetlinkLinks } from "../../../../lib/kernel/links/netlink_links.ts";
import {
  checkDummyLink,
  checkPreferredSources,
  checkRefusedAddresses,
  routeTo,
} from "../links/behaviour_cases.ts";
import { spokenFile } from "../../../fakes/recorded_kernel.ts";
import { behaviourCases, checkCase, checkTimeouts, pod, web } from "../ipvs/behaviour_cases.ts";
import type { Dialogue } from "./dialogue.ts";

const files = new KernelFiles();
const commands = new FakeCommands();
const readNet = (name: string) => spokenFile(() => files.readNet(name));
const ipvs = new NetlinkIpvs({ files: { readNet, readNetHead: readNet }, commands });

/** What somebody else does: done when the talk is recorded. */
function byTool(...args: readonly string[]): void {
  spokenFile(() => {
    const { success } = new Deno.Command("ipvsadm", { args: [...args] }).outputSync();
    assert.ok(success, `ipvsadm ${args.join(" ")}`);
    return undefined;
  });
}

const dns = { ...web, protocol: "udp", port: 53 } as const;

/** What a reading finds while `meanwhile` happens between its two halves, of which the second is a file. */
async function readTorn(meanwhile: (text: string | undefined) => string | undefined) {
  const given: readonly IpvsChange[] = [
    { kind: "add-server", server: web },
    { kind: "add-destination", server: web, destination: pod },
  ];
  assert.deepEqual(await ipvs.commit(given), []);
  let reads = 0;
  let table: string | undefined;
  const torn = new NetlinkIpvs({
    files: {
      // Whoever asks whether IPVS is loaded reads its head.
      readNetHead: readNet,
      // The first one is a half of the list; twice more it says the same, which is then believed.
      readNet: (name) => {
        if (++reads === 1) table = meanwhile(readNet(name));
        return reads <= 3 ? table : readNet(name);
      },
    },
    commands,
  });
  const found = torn.read().map(({ destinations, server }) =>
    [frontendText(server), ...destinations.map(({ address }) => address)].join(" ")
  );
  for (const server of [web, dns]) await ipvs.commit([{ kind: "delete-server", server }]);
  return found;
}

/** All talks about virtual servers, where IPVS is loaded, and about dummies. */
export const ipvsDialogues: readonly Dialogue[] = [
  ...behaviourCases.map((row) => ({
    name: `IPVS: ${row.name}`,
    hold: () => checkCase(ipvs, row),
  })),
  {
    name: "IPVS: a server that a list misses is asked for",
    async hold() {
      const head = (text: string | undefined) => text?.split("\n").slice(0, 3).join("\n");
      assert.deepEqual(await readTorn(head), ["-t 10.96.0.1:80 10.128.0.5"]);
    },
  },
  {
    name: "IPVS: a server that comes while the others are read",
    async hold() {
      const found = await readTorn(() => {
        ipvs.commit([{ kind: "add-server", server: dns }]);
        return readNet("ip_vs");
      });
      assert.deepEqual(found, ["-t 10.96.0.1:80 10.128.0.5", "-u 10.96.0.1:53"]);
    },
  },
  {
    name: "IPVS: a server that goes while the others are read",
    async hold() {
      const found = await readTorn(() => {
        ipvs.commit([{ kind: "delete-server", server: web }]);
        return readNet("ip_vs");
      });
      assert.deepEqual(found, []);
    },
  },
  {
    name: "IPVS: servers that are gone before they are asked for",
    async hold() {
      const line = "UDP  0A600001:0035 rr \n";
      assert.deepEqual(await readTorn((text) => `${text}\n${line}`), [
        "-t 10.96.0.1:80 10.128.0.5",
      ]);
    },
  },
  {
    name: "IPVS: servers by firewall mark are counted, and not read",
    async hold() {
      assert.deepEqual(await ipvs.commit([{ kind: "add-server", server: web }]), []);
      for (const mark of ["7", "8"]) byTool("-A", "-f", mark, "-s", "rr");
      assert.deepEqual([ipvs.countMarkServers(), ipvs.read().length], [2, 1]);
      byTool("-C");
      assert.equal(ipvs.countMarkServers(), 0);
    },
  },
  { name: "a dummy takes addresses", hold: () => checkDummyLink(new NetlinkLinks()) },
  {
    name: "sources are preferred",
    async hold() {
      const links = new NetlinkLinks();
      await checkPreferredSources(links, (ip) => routeTo(links, ip));
    },
  },
  { name: "addresses are refused", hold: () => checkRefusedAddresses(new NetlinkLinks()) },
  {
    name: "IPVS: timeouts",
    hold() {
      checkTimeouts(ipvs);
      return Promise.resolve();
    },
  },
  {
    name: "IPVS: loaded already",
    async hold() {
      await ipvs.load();
      return ipvs.version();
    },
  },
];
