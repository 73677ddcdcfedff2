/**
 * The chains of a table of the older engine, each with a number that is made of all that its rules say. The
 * numbers of a hundred megabytes take some ten milliseconds, so what did not change need not be read.
 */
import { TurnsNowAndThen } from "../../base/event_loop.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { LegacyBlob } from "./legacy_blob.ts";
import {
  ChainName,
  type EntryLayout,
  entryLayouts,
  ERROR,
  nextOf,
  Part,
  textAt,
} from "./legacy_entry.ts";

/** A chain as the table has it. */
export interface LegacyChain {
  readonly isBuiltIn: boolean;
  /** Where its rules are, in their order. */
  readonly rules: { readonly from: number; readonly to: number; readonly count: number };
  /** Equal for equal rules, wherever in the table they and the chains are to which they lead. */
  readonly fingerprint: number;
}

/** The event loop may have its turn after so many: a millisecond, where each has a few rules. */
const CHAINS_PER_PIECE = 500;
/** The chains that the kernel calls itself, by the numbers of their hooks. */
const BUILT_IN = ["PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"];

/** All chains by their names, in the order of the table. Throws `RangeError` where the bytes are garbage. */
export async function legacyChains(
  blob: LegacyBlob,
  family: IpFamily,
  turns: TurnsNowAndThen = new TurnsNowAndThen(),
): Promise<ReadonlyMap<string, LegacyChain>> {
  const walk = new ChainWalk(blob, family);
  while (walk.go(CHAINS_PER_PIECE)) await turns.take();
  return walk.chains;
}

/** A chain that goes on. */
interface OpenChain {
  readonly name: string;
  readonly isBuiltIn: boolean;
  readonly from: number;
  /** The last entry says what happens to packets that no rule decided over. */
  last: number;
  entries: number;
}

class ChainWalk {
  readonly chains = new Map<string, LegacyChain>();
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #layout: EntryLayout;
  /** Hooks by the places of their chains. */
  readonly #hooks: ReadonlyMap<number, number>;
  readonly #digest: EntryDigest;
  #at = 0;
  #open: OpenChain | undefined;

  constructor({ entries, hookEntries }: LegacyBlob, family: IpFamily) {
    this.#bytes = entries;
    this.#view = new DataView(entries.buffer, entries.byteOffset, entries.length);
    this.#layout = entryLayouts[family];
    this.#hooks = new Map(
      hookEntries.flatMap((place, hook) => place === undefined ? [] : [[place, hook]]),
    );
    this.#digest = new EntryDigest(entries, this.#layout);
  }

  /** Goes on through so many chains; whether there are more. */
  go(chains: number): boolean {
    const end = this.#bytes.length;
    for (let begun = 0; this.#at < end && begun < chains;) {
      const at = this.#at;
      const next = this.#at = nextOf(this.#view, at, this.#layout);
      const target = at + this.#view.getUint16(at + this.#layout.target, true);
      const hook = this.#hooks.get(at);
      if (hook !== undefined) this.#begin(BUILT_IN[hook], { from: at, isBuiltIn: true });
      if (this.#digest.isHead(target)) {
        begun++;
        const name = textAt(this.#bytes, target + Part.data, ChainName.bytes);
        this.#begin(name, { from: next, isBuiltIn: false });
      } else if (this.#open) {
        this.#open.last = at;
        this.#open.entries++;
        this.#digest.add(at, target, next);
      }
    }
    if (this.#at < end) return true;
    // The table ends with the head of a chain that is none.
    this.#open = undefined;
    return false;
  }

  #begin(name: string, { from, isBuiltIn }: Pick<OpenChain, "from" | "isBuiltIn">): void {
    const open = this.#open;
    if (open) {
      this.chains.set(open.name, {
        isBuiltIn: open.isBuiltIn,
        rules: { from: open.from, to: open.last, count: Math.max(0, open.entries - 1) },
        fingerprint: this.#digest.take(),
      });
    }
    this.#open = { name, isBuiltIn, from, last: from, entries: 0 };
  }
}

/** Two hashes of 32 bits of some entries, of which 53 bits are kept; without counters, and places as names. */
class EntryDigest {
  readonly #words: Uint32Array;
  readonly #layout: EntryLayout;
  #first = 0;
  #second = 0;

  constructor(entries: Uint8Array, layout: EntryLayout) {
    const bytes = entries.byteOffset % 4 === 0 ? entries : entries.slice();
    this.#words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
    this.#layout = layout;
    this.#reset();
  }

  /** Whether this target is that of an entry that begins a chain. */
  isHead(target: number): boolean {
    // A size of two bytes, then the name with its zero.
    const at = target >> 2;
    return this.#words[at] >>> 16 === HEAD_FIRST && this.#words[at + 1] === HEAD_SECOND;
  }

  add(at: number, target: number, next: number): void {
    const { matches, target: offsets } = this.#layout;
    // What the header asks, without marks of the kernel, and all behind the counters.
    this.#mix(at, at + offsets - 4);
    this.#mix(at + matches, target);
    const isStandard = (this.#words[target >> 2] & 0xff0000) === 0;
    if (isStandard) this.#addVerdict(this.#words[(target + Part.data) >> 2] | 0, next);
    else this.#mix(target, next);
  }

  /** The number of what was added since the last one. */
  take(): number {
    const value = (this.#first >>> 0) * 0x20_0000 + (this.#second >>> 11);
    this.#reset();
    return value;
  }

  #addVerdict(verdict: number, next: number): void {
    // A chain begins behind its name.
    if (verdict >= 0 && verdict !== next) this.#mix(verdict - ChainName.paddedBytes, verdict);
    else this.#mixWord(verdict === next ? GOES_ON : verdict);
  }

  /** It may be a hundred megabytes: the hashes are in variables meanwhile. */
  #mix(from: number, to: number): void {
    const words = this.#words;
    let first = this.#first;
    let second = this.#second;
    for (let at = from >> 2; at < to >> 2; at++) {
      const word = words[at];
      first = Math.imul(first ^ word, 0x01000193);
      first ^= first >>> 13;
      second = Math.imul(second ^ word, 0x5bd1e995);
      second ^= second >>> 15;
    }
    this.#first = first;
    this.#second = second;
  }

  #mixWord(word: number): void {
    const first = Math.imul(this.#first ^ word, 0x01000193);
    this.#first = first ^ (first >>> 13);
    const second = Math.imul(this.#second ^ word, 0x5bd1e995);
    this.#second = second ^ (second >>> 15);
  }

  #reset(): void {
    this.#first = 0x811c9dc5;
    this.#second = 0x9747b28c;
  }
}

const headName = new TextEncoder().encode(`${ERROR}\0`);
const HEAD_FIRST = headName[0] | headName[1] << 8;
const HEAD_SECOND = (headName[2] | headName[3] << 8 | headName[4] << 16 | headName[5] << 24) >>> 0;
/** What no verdict is. */
const GOES_ON = 0x7fffffff;
