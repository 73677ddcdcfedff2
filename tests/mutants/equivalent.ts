/** Mutants that no test can notice, each with the reason. */
import type { Mutant } from "./mutate.ts";

/** A mutant is known by its file, its line's text and its change; line numbers move. */
interface Equivalent {
  readonly path: string;
  readonly code: string;
  /** As `scripts/mutants` prints it. */
  readonly change: string;
  readonly reason: string;
}

/** For tests: an entry that stands for no mutant any more goes. */
export const equivalents: readonly Equivalent[] = [
  {
    path: "lib/kernel/xtables/legacy_reading.ts",
    code: "const CHAINS_PER_PIECE = 20;",
    change: "`20` -> `21`",
    reason: "after how many chains others get their turn shows in no result",
  },
  {
    path: "lib/kernel/nftables/element_list.ts",
    code: "const capacity = expected * this.#encoder.typicalBytes;",
    change: "`expected * this.#encoder.typicalBytes` -> `(expected / this.#encoder.typicalBytes)`",
    reason: "the list makes room as it grows",
  },
  {
    path: "lib/kernel/nf_tables/compare_element_lists.ts",
    code: "const words = (part.length + 3) >>> 2;",
    change: "`3` -> `4`",
    reason: "a word more behind a part is in both spellings",
  },
  {
    path: "lib/base/ip.ts",
    code: "} else if (code === 46 && octet >= 0 && index < 3) {",
    change: "`index < 3` -> `(index <= 3)`",
    reason: "a fourth dot makes the count wrong, which the end looks at as well",
  },
  {
    path: "lib/writers/iptables/shared_chains.ts",
    code: "if (count > 0) counts.set(key, count - 1);",
    change: "`count > 0` -> `(count >= 0)`",
    reason: "no rule is wanted twice, so nobody asks again for one that is not there",
  },
  {
    path: "lib/kernel/self.ts",
    code: "const PAGE_BYTES_FALLBACK = 4096;",
    change: "`4096` -> `8192`",
    reason: "a process that asks for itself has memory, and so the line VmRSS in its status",
  },
  {
    path: "lib/kernel/netlink/socket.ts",
    code: "await libc.pollLater(request, 1n, timeoutMs);",
    change: "`1n` -> `2n`",
    reason: "what lies behind the one descriptor is waited for too, and its answer is not read",
  },
  {
    path: "lib/doctor/facts/cluster_reading.ts",
    code:
      '/^\\s*proxyAll:\\s*(true|false)/m.exec(textAt(object, "data", "antrea-agent.conf") ?? "")?.[1],',
    change:
      '`textAt(object, "data", "antrea-agent.conf") ?? ""` -> `(textAt(object, "data", "antrea-agent.conf"))`',
    reason: "the pattern is found in no text that stands for nothing",
  },
  {
    path: "lib/base/shared_texts.ts",
    code: "const limit = 65_536;",
    change: "`65_536` -> `131072`",
    reason: "texts are equal whether they are shared or not: only the memory they take differs",
  },
  {
    path: "lib/base/files_watch.ts",
    code: "if (clock.monotonic() < lookAt) continue;",
    change: "`clock.monotonic() < lookAt` -> `(clock.monotonic() <= lookAt)`",
    reason: "at that very moment it looks one turn later, for which it does not wait",
  },
  {
    path: "lib/base/yaml_block.ts",
    code: "if (depth > maxDepth) throw new NotPlain();",
    change: "`depth > maxDepth` -> `(depth >= maxDepth)`",
    reason: "what is too deep for the quick reader is read by the other one, to the same result",
  },
  {
    path: "lib/base/ip.ts",
    code: "if (slash < 0) return undefined;",
    change: "`0` -> `1`",
    reason: "a text that begins with the slash has no address before it, and is refused as well",
  },
  {
    path: "lib/sync/family_sync.ts",
    code: "#requestedMeanwhile = false;",
    change: "`false` -> `true`",
    reason: "each sync sets it before anybody reads it",
  },
  {
    path: "lib/base/flag_values.ts",
    code: 'if (!text.startsWith("v")) return String(boolean.parse(text, false));',
    change: "`false` -> `true`",
    reason: "the value before is of no interest to a boolean",
  },
  {
    path: "lib/base/ip.ts",
    code: "for (let start = 0; start < groups.length; start++) {",
    change: "`start < groups.length` -> `(start <= groups.length)`",
    reason: "a run that begins behind the last group has no length",
  },
  {
    path: "lib/base/json_place.ts",
    code: "if (last >= 0) this.offset = last;",
    change: "`0` -> `1`",
    reason: "a member stands behind the brace of its object",
  },
  {
    path: "lib/kernel/nf_tables/stopped_series.ts",
    code: "if (this.#numbers.length > remembered) this.#numbers.shift();",
    change: "`this.#numbers.length > remembered` -> `(this.#numbers.length >= remembered)`",
    reason: "one series more or less is remembered; a few are on their way at most",
  },
  {
    path: "lib/base/yaml.ts",
    code: "return { source, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };",
    change: "`lines.at(-1)?.length ?? 0` -> `(lines.at(-1)?.length)`",
    reason: "splitting a text gives one line at least",
  },
  {
    path: "lib/kernel/nf_tables/direct_transport.ts",
    code: "const FIRST_ECHO = 0x10;",
    change: "`0x10` -> `17`",
    reason: "the types of nf_tables begin at 0xa00",
  },
  {
    path: "lib/kernel/nf_tables/commit.ts",
    code: "operation: batch.messages[sequence]?.operation ?? -1,",
    change:
      "`batch.messages[sequence]?.operation ?? -1` -> `(batch.messages[sequence]?.operation)`",
    reason: "the kernel echoes messages of the batch alone",
  },
  {
    path: "lib/kernel/xtables/structures.ts",
    code: "const address = parseIp(target.address) ?? new Uint8Array();",
    change: "`parseIp(target.address) ?? new Uint8Array()` -> `(parseIp(target.address))`",
    reason: "a target has a canonical address",
  },
  {
    path: "lib/kube/protobuf/reader.ts",
    code: "for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]) | 0;",
    change: "`i < end` -> `(i <= end)`",
    reason: "the hash chooses a slot; the text in it is compared",
  },
  {
    path: "lib/trackers/family_state.ts",
    code: "keepIn(this.#ranged, entry, (entry.record?.spec.sourceRanges.length ?? 0) > 0);",
    change:
      "`entry.record?.spec.sourceRanges.length ?? 0` -> `(entry.record?.spec.sourceRanges.length)`",
    reason: "undefined is not above 0 either",
  },
  {
    path: "lib/writers/ipvs/writer.ts",
    code: "if (services.size % servicesPerTurn === 0) await turnOfTheEventLoop();",
    change: "`services.size % servicesPerTurn === 0` -> `!(services.size % servicesPerTurn === 0)`",
    reason: "others get their turn more often, and the result is the same",
  },
  {
    path: "lib/kernel/nf_tables/answer_digest.ts",
    code: "second ^= second >>> 15;",
    change: "`15` -> `16`",
    reason: "the numbers are compared with each other alone, and mix as well",
  },
  {
    path: "lib/kernel/netlink/socket.ts",
    code: "const value = new Int32Array(1);",
    change: "`1` -> `2`",
    reason: "the kernel is told how long a number is, and only the first one is read",
  },
  {
    path: "lib/kernel/nf_tables/direct_transport.ts",
    code: "} else if (message.type >= FIRST_ECHO) {",
    change: "`message.type >= FIRST_ECHO` -> `(message.type > FIRST_ECHO)`",
    reason: "the types of nf_tables begin at 0xa00",
  },
  {
    path: "lib/kernel/netns.ts",
    code: "const fd = libc.open(cString(path), O_RDONLY_CLOEXEC, 0);",
    change: "`0` -> `1`",
    reason: "the kernel reads the rights of a file only where it makes one",
  },
  {
    path: "lib/base/fields.ts",
    code: "refusesNull: options.refusesNull ?? false,",
    change: "`options.refusesNull ?? false` -> `(options.refusesNull)`",
    reason: "it is only asked as a condition",
  },
  {
    path: "lib/config/assemble.ts",
    code: 'const mode = textOf(overrides.get("mode")) ?? textOf(given.get("mode")) ?? "";',
    change:
      '`textOf(overrides.get("mode")) ?? textOf(given.get("mode")) ?? ""` -> `(textOf(overrides.get("mode")) ?? textOf(given.get("mode")))`',
    reason: "it is only compared with the names of two modes",
  },
  {
    path: "lib/base/yaml_block.ts",
    code: "const maxDepth = 32;",
    change: "`32` -> `33`",
    reason: "what is too deep for the quick reader is read by the other one, to the same result",
  },
  {
    path: "lib/config/convert/rewrite.ts",
    code: "const comment = mapping.commentBefore ?? undefined;",
    change: "`mapping.commentBefore ?? undefined` -> `(mapping.commentBefore)`",
    reason: "a mapping whose comment is null has none either",
  },
  {
    path: "lib/kernel/conntrack/netlink_conntrack.ts",
    code: "const TURN_MS = 5;",
    change: "`5` -> `6`",
    reason: "others wait a thousandth of a second longer, which no clock of a test tells soundly",
  },
  {
    path: "lib/kernel/inspection/kernel_log.ts",
    code: "const length = size < 0 ? size : syslog(Action.readAll, buffer, buffer.length);",
    change: "`0` -> `1`",
    reason: "a ring of no bytes gives none when it is read either",
  },
  {
    path: "lib/kernel/firewall/nft_firewall.ts",
    code: "place: `handle ${handle ? readU64be(handle) : 0}`,",
    change: "`0` -> `1`",
    reason: "the kernel tells the handle of every rule",
  },
  {
    path: "lib/kernel/ipvs/wire.ts",
    code: "export const ServiceFlag = { persistent: 0x1, hashed: 0x2 } as const;",
    change: "`0x2` -> `3`",
    reason: "both flags are always taken out together, and the other one is 1",
  },
  {
    path: "lib/kube/protobuf/reader.ts",
    code: "const internSlots = 4096;",
    change: "`4096` -> `8192`",
    reason: "texts are equal whether they are found again or made anew",
  },
  {
    path: "lib/kube/protobuf/reader.ts",
    code: "let hash = end - start;",
    change: "`end - start` -> `(end + start)`",
    reason:
      "the hash chooses a slot; the text in it is compared, and made anew where it is another",
  },
  {
    path: "lib/node/node_guard.ts",
    code: "const known = () => (current()?.podCIDRs.length ?? 0) > 0;",
    change: "`current()?.podCIDRs.length ?? 0` -> `(current()?.podCIDRs.length)`",
    reason: "undefined is not above 0 either",
  },
  {
    path: "lib/kernel/netlink/messages.ts",
    code: "export const MessageType = { noop: 1, error: 2, done: 3, overrun: 4 } as const;",
    change: "`1` -> `2`",
    reason: "the kernel acknowledges every type below 0x10 without looking at it",
  },
  {
    path: "lib/kernel/nf_tables/generation.ts",
    code: "const everyFamily = genmsg(0);",
    change: "`0` -> `1`",
    reason: "a family has no generation of its own, and the kernel looks at none here",
  },
  {
    path: "lib/kernel/nf_tables/generation.ts",
    code:
      "writer.begin({ type: Msg.getGen, flags: MessageFlag.request, sequence: 0 }, everyFamily);",
    change: "`0` -> `1`",
    reason: "each question writes its own number over this one",
  },
  {
    path: "lib/kube/protobuf/stream.ts",
    code: "#listBytesLeft = 0;",
    change: "`0` -> `1`",
    reason: "the envelope says how many there are before anybody looks at it",
  },
  {
    path: "lib/kernel/self.ts",
    code:
      'residentBytes: statusBytes(status, "VmRSS") ?? stat.residentPages * PAGE_BYTES_FALLBACK,',
    change:
      "`stat.residentPages * PAGE_BYTES_FALLBACK` -> `(stat.residentPages / PAGE_BYTES_FALLBACK)`",
    reason: "a process that asks for itself has memory, and so the line VmRSS in its status",
  },
  {
    path: "lib/writers/nftables/draft.ts",
    code: "if (elements.length > 0) ownedOf(this.#removed, set).push(elements, owner);",
    change: "`elements.length > 0` -> `(elements.length >= 0)`",
    reason: "a set of which nothing is removed adds no operation to a batch",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "for (let i = 0; i < this.#taken.length; i++) if (this.#taken[i] === 0) numbers.push(i);",
    change: "`i < this.#taken.length` -> `(i <= this.#taken.length)`",
    reason: "behind its end a typed array has nothing, which is no zero",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "for (let i = 0; i < count; i++) bounds[i + 1] = bounds[i] + wordsOf(words[bounds[i]]);",
    change: "`i < count` -> `(i <= count)`",
    reason: "what is written behind the end of a typed array goes nowhere",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "for (let i = 0; i < hashes.length; i++) {",
    change: "`i < hashes.length` -> `(i <= hashes.length)`",
    reason: "what is written behind the end of a typed array goes nowhere",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "let hash = 0x811c9dc5;",
    change: "`0x811c9dc5` -> `4332272522`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "for (let at = bounds[i]; at < bounds[i + 1]; at++) {",
    change: "`i + 1` -> `(i - 1)`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "hash = Math.imul(hash ^ words[at], 0x9e3779b1);",
    change: "without `hash = Math.imul(hash ^ words[at], 0x9e3779b1);`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "hash = Math.imul(hash ^ words[at], 0x9e3779b1);",
    change: "`0x9e3779b1` -> `5308871522`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "hashes[i] = hash;",
    change: "without `hashes[i] = hash;`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: 'return "first";',
    change: '`"first"` -> `undefined`',
    reason: "whoever asks looks for the two other answers",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "hash ^= hash >>> 15;",
    change: "without `hash ^= hash >>> 15;`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "hash ^= hash >>> 15;",
    change: "`hash >>> 15` -> `(hash << 15)`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/match_elements.ts",
    code: "hash ^= hash >>> 15;",
    change: "`15` -> `16`",
    reason: "another hash finds the same elements, more slowly",
  },
  {
    path: "lib/kernel/nf_tables/growing_bytes.ts",
    code: "if (end > this.#bytes.length) {",
    change: "`end > this.#bytes.length` -> `(end >= this.#bytes.length)`",
    reason: "a buffer that is just full grows one piece earlier, and holds the same",
  },
];

/** Whether the mutant is in the list. */
export function isEquivalent({ change, code, path }: Mutant): boolean {
  return equivalents.some((each) =>
    each.path === path && each.code === code && each.change === change
  );
}
