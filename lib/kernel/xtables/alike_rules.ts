/**
 * Which chains surely hold what they should, without reading their rules: nearly all do when the program
 * starts again. The kernel tells rules just as they were written, but for counters; so a number that
 * the worker makes of its answers is compared with the same number of the rules that are wanted. Rules
 * that mean the same in other words, as other versions of iptables write them, have another one.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { HEADER_BYTES } from "../netlink/messages.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { AnswerDigest, type DigestOptions } from "../nf_tables/answer_digest.ts";
import type { NfTransport } from "../nf_tables/transport.ts";
import { genmsg, Msg, RuleAttr } from "../nf_tables/wire.ts";
import { writeExpressions } from "./encode_rule.ts";
import { xtFamilyFacts } from "./family.ts";
import { rulesQuery } from "./nft_queries.ts";
import type { XtRule, XtTable } from "./rules.ts";
import type { XtSets } from "./sets.ts";

/** Chains that are asked for in one go; in between, whoever wants to write has his turn. */
const CHAINS_PER_SLICE = 200;
/** A usual rule with much room. */
const RULE_BYTES = 1_024;

const { expressions } = RuleAttr;
const digestOptions: DigestOptions = { attributes: [expressions], expressions };

/** What the kernel is asked with. */
export interface AlikeOptions {
  readonly transport: Pick<NfTransport, "digests">;
  readonly family: IpFamily;
  /** Those that rules may look into. */
  readonly sets: XtSets;
}

/** Those of the chains whose rules have to be read to know whether they are these, in their order. */
export async function unlikeChains(
  { family, sets, transport }: AlikeOptions,
  table: XtTable,
  wanted: readonly (readonly [chain: string, rules: readonly XtRule[]])[],
): Promise<readonly string[]> {
  const numbers = new RuleNumbers(family, sets);
  const unlike: string[] = [];
  for (let from = 0; from < wanted.length; from += CHAINS_PER_SLICE) {
    const slice = wanted.slice(from, from + CHAINS_PER_SLICE);
    const names = slice.map(([chain]) => chain);
    const asked = { query: rulesQuery(family, table), attribute: RuleAttr.chain, names };
    const answered = transport.digests({ asked, options: digestOptions });
    // While the worker asks.
    const expected = slice.map(([, rules]) => numbers.of(rules));
    const there = await answered;
    unlike.push(...names.filter((_, index) => there[index] !== expected[index]));
  }
  return unlike;
}

/** Numbers of rules as if the kernel told them. */
class RuleNumbers {
  readonly #writer = new MessageWriter(RULE_BYTES, { marksNested: false });
  readonly #header = { type: Msg.newRule, flags: 0, sequence: 0 };
  readonly #genmsg: Uint8Array;
  readonly #family: IpFamily;
  readonly #sets: XtSets;

  constructor(family: IpFamily, sets: XtSets) {
    this.#family = family;
    this.#sets = sets;
    this.#genmsg = genmsg(xtFamilyFacts(family).nfproto);
  }

  /** Not a number for rules that cannot be written, such as one with a set that is not there: no chain holds them. */
  of(rules: readonly XtRule[]): number {
    const digest = new AnswerDigest(digestOptions);
    try {
      for (const rule of rules) digest.add(this.#payloadOf(rule));
    } catch (error) {
      if (error instanceof TypeError) return NaN;
      throw error;
    }
    return digest.value;
  }

  #payloadOf(rule: XtRule): Uint8Array {
    const writer = this.#writer;
    writer.reset();
    writer.begin(this.#header, this.#genmsg);
    const list = writer.beginNested(expressions);
    writeExpressions(writer, { rule, family: this.#family, sets: this.#sets, isAnswer: true });
    writer.endNested(list);
    return writer.bytes().subarray(HEADER_BYTES);
  }
}
