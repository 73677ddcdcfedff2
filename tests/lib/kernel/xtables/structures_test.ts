/** Which bytes of xtables' structures mean something: every other value there is another rule, or none of ours. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import type { XtMatch, XtTarget } from "../../../../lib/kernel/xtables/rules.ts";
import {
  matchStructure,
  readMatch,
  readTarget,
  targetStructure,
} from "../../../../lib/kernel/xtables/structures.ts";
import type { XtStructure } from "../../../../lib/kernel/xtables/structure.ts";
import { sampleRules, sampleSets } from "./sample_rules.ts";

/** Bytes that the kernel does not look at, as ranges with their ends. */
const meaningless: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  tcp: [[12, 15]],
  udp: [[9, 15]],
  // Kinds of chunks, which count only where the flags say so.
  sctp: [[4, 283], [292, 295]],
  // Addresses, times and ports, which count only where the flags say so; the state of NAT.
  conntrack: [[0, 145], [152, 167]],
  // The kernel fills the rest.
  statistic: [[8, 23]],
  recent: [[211, 211], [228, 231]],
  nfacct: [[32, 39]],
  // Counters, which count only where their operators say so.
  set: [[4, 15], [17, 31], [33, 39], [44, 47]],
  // Names of interfaces, which count only where they are asked for.
  physdev: [[0, 63], [66, 71]],
  // How it is forwarded, and the port of a control connection.
  ipvs: [[35, 37]],
  DNAT: [[40, 47]],
  REJECT: [[4, 7]],
};

function isMeaningless(name: string, at: number): boolean {
  return (meaningless[name] ?? []).some(([first, last]) => at >= first && at <= last);
}

/** Each position where another byte is read as the same thing. */
function ignored<T>(
  structure: XtStructure,
  read: (changed: XtStructure) => T | undefined,
): number[] {
  const meant = JSON.stringify(read(structure));
  return Array.from(structure.info.keys()).filter((at) => {
    const info = structure.info.slice();
    info[at] ^= 0x5a;
    return JSON.stringify(read({ ...structure, info })) === meant;
  });
}

for (const family of ipFamilies) {
  const rules = sampleRules(family).map(({ rule }) => rule);
  const matches = rules.flatMap(({ matches }) => matches);
  const targets = rules.flatMap(({ target }) => target ? [target] : []);

  Deno.test(`readMatch() looks at every byte that means something, ${family}`, () => {
    for (const match of unique(matches)) {
      const structure = matchStructure(match, sampleSets);
      if (!structure) continue;
      assert.deepEqual(readMatch(structure, family, { sets: sampleSets }), match);
      const wrong = ignored(
        structure,
        (changed) => readMatch(changed, family, { sets: sampleSets }),
      )
        .filter((at) => !isMeaningless(structure.name, at) && !isBehindText(structure, at))
        .filter((at) => !isUnusedMask(structure, at, family) && !isUnusedPort(match, at));
      assert.deepEqual(wrong, [], JSON.stringify(match));
    }
  });

  Deno.test(`readTarget() looks at every byte that means something, ${family}`, () => {
    for (const target of unique(targets)) {
      const structure = targetStructure(target, family);
      if (!structure) continue;
      assert.deepEqual(readTarget(structure, family), target);
      const wrong = ignored(structure, (changed) => readTarget(changed, family))
        .filter((at) =>
          !isMeaningless(structure.name, at) && !isUnusedRange(structure, at, family)
        );
      assert.deepEqual(wrong, [], JSON.stringify(target));
    }
  });

  Deno.test(`structures that are cut off or unknown are nothing of ours, ${family}`, () => {
    for (const match of unique(matches)) {
      const structure = matchStructure(match, sampleSets);
      if (!structure) continue;
      for (const info of [structure.info.subarray(0, 3), new Uint8Array()]) {
        assert.equal(readMatch({ ...structure, info }, family), undefined, structure.name);
      }
      assert.equal(readMatch({ ...structure, revision: 9 }, family), undefined);
      assert.equal(readTarget(structure, family), undefined);
    }
    for (const target of unique(targets)) {
      const structure = targetStructure(target, family);
      if (!structure) continue;
      assert.equal(readTarget({ ...structure, info: new Uint8Array(3) }, family), undefined);
      assert.equal(readTarget({ ...structure, name: "TPROXY" }, family), undefined);
    }
  });
}

function unique<T extends XtMatch | XtTarget>(all: readonly T[]): readonly T[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

/** Text ends with its first zero. */
function isBehindText({ info, name }: XtStructure, at: number): boolean {
  const start = name === "comment" || name === "nfacct" ? 0 : name === "recent" ? 10 : undefined;
  const end = name === "recent" ? 210 : info.length;
  return start !== undefined && at < end && at > info.indexOf(0, start);
}

/** Ports of sctp count only where the flags say so. */
function isUnusedPort(match: XtMatch, at: number): boolean {
  return match.kind === "ports" && match.protocol === "sctp" && match.destination === undefined &&
    at < 4;
}

/** IPv4 looks at the first four bytes of a mask, and of an address. */
function isUnusedMask({ name }: XtStructure, at: number, family: string): boolean {
  if (name === "ipvs" && family === "IPv4") return at < 32 && at % 16 >= 4;
  return name === "recent" && family === "IPv4" && at >= 216 && at < 228;
}

/** IPv4 looks at the first four bytes of an address; masquerading takes no address and no ports from us. */
function isUnusedRange({ name }: XtStructure, at: number, family: string): boolean {
  if (name === "MASQUERADE") return family === "IPv4" ? at < 4 || at >= 8 : at >= 4;
  const isBehindAddress = (start: number) => at >= start + 4 && at < start + 16;
  return name === "DNAT" && family === "IPv4" && (isBehindAddress(4) || isBehindAddress(20));
}

Deno.test("matchStructure() says which set is missing", () => {
  const match: XtMatch = { kind: "set", name: "KUBE-GONE", sides: ["dst"] };
  const says = { message: 'Cannot encode rule: no set "KUBE-GONE"' };
  assert.throws(() => matchStructure(match, sampleSets), says);
  assert.throws(() => matchStructure(match), says);
});

Deno.test("targetStructure() masquerades with the one range that the kernel asks for", () => {
  const hexOf = (randomFully: boolean, family: "IPv4" | "IPv6") =>
    targetStructure({ kind: "masquerade", randomFully }, family)?.info.toHex();
  // struct nf_nat_ipv4_multi_range_compat: how many ranges, and the flags of the first.
  assert.equal(hexOf(true, "IPv4"), `0100000010000000${"0".repeat(32)}`);
  assert.equal(hexOf(false, "IPv4"), `01000000${"0".repeat(40)}`);
  assert.equal(hexOf(true, "IPv6"), `10000000${"0".repeat(72)}`);
});

Deno.test("readMatch() reads a counter without what the kernel adds, and none whose name is cut off", () => {
  const match: XtMatch = { kind: "nfacct", name: "dropped" };
  const structure = matchStructure(match, sampleSets);
  assert.ok(structure);
  // NFACCT_NAME_MAX of the kernel is 32.
  const ofBytes = (bytes: number) =>
    readMatch({ ...structure, info: structure.info.subarray(0, bytes) }, "IPv4");
  assert.deepEqual([ofBytes(32), ofBytes(31)], [match, undefined]);
});
