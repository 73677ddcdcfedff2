/**
 * Records what the kernel answers to a reader of rules: dumps of nf_tables, and tables of the older
 * engine, for tests without a kernel. Run it as root:
 * `deno run -A --no-check tests/kernel/record_firewall.ts`.
 */
import { inNetworkNamespace } from "../../lib/kernel/netns.ts";
import { readNftFirewall } from "../../lib/kernel/firewall/nft_firewall.ts";
import { DirectTransport } from "../../lib/kernel/nf_tables/direct_transport.ts";
import type { NfQuery, NfTransport } from "../../lib/kernel/nf_tables/transport.ts";
import { readLegacyBlob } from "../../lib/kernel/xtables/legacy_blob.ts";
import { runCommand } from "./rig/command.ts";
import { withOwnNamespace } from "./rig/own_namespace.ts";

const folder = new URL("../lib/kernel/firewall/recorded/", import.meta.url);
const answers: Record<string, string[]> = {};
const hex = (payloads: readonly Uint8Array[]) => payloads.map((each) => each.toHex());

function recording(transport: NfTransport): NfTransport {
  const note = (query: NfQuery, name: string, payloads: readonly Uint8Array[]) => {
    const words = [...query.names.map(([, each]) => each), ...(name === "" ? [] : [name])];
    answers[`${query.type} ${query.nfproto} ${words.join("/")}`] = hex(payloads);
  };
  return {
    largestBatch: 0,
    generation: () => transport.generation(),
    commit: () => Promise.reject(new Error("nothing is written")),
    query: async (query) => {
      const payloads = await transport.query(query);
      note(query, "", payloads);
      return payloads;
    },
    visit: () => Promise.reject(new Error("nothing is visited")),
    queryEach: async (question) => {
      const groups = await transport.queryEach(question);
      groups.forEach((payloads, at) => note(question.query, question.names[at], payloads));
      return groups;
    },
    digests: () => Promise.reject(new Error("nothing is digested")),
    compare: () => Promise.reject(new Error("nothing is compared")),
    lookUp: () => Promise.reject(new Error("nothing is looked up")),
    close: () => {},
  };
}

await withOwnNamespace(async ({ name }) => {
  const read = (file: string) => Deno.readTextFileSync(new URL(file, folder));
  const run = (argv: readonly string[], input: string) =>
    runCommand(["ip", "netns", "exec", name, ...argv], input);
  await run(["nft", "-f", "-"], read("host.nft"));
  await run(["iptables-nft-restore"], read("iptables.rules"));
  for (const tool of ["iptables", "ip6tables"]) {
    const family = tool === "iptables" ? "" : "6";
    await run([`${tool}-legacy-restore`], read(`legacy${family}.rules`));
  }
  const { legacy, transport } = inNetworkNamespace(`/run/netns/${name}`, () => ({
    transport: new DirectTransport(),
    legacy: (["IPv4", "IPv6"] as const).map((family) => readLegacyBlob(family, "filter")),
  }));
  await readNftFirewall(recording(transport), { wantsRules: () => true });
  transport.close();
  const blobs = legacy.map(({ entries, hookEntries, underflows }) => ({
    hookEntries: hookEntries.map((each) => each ?? null),
    underflows: underflows.map((each) => each ?? null),
    entries: entries.toHex(),
  }));
  Deno.writeTextFileSync(
    new URL("answers.json", folder),
    `${JSON.stringify({ answers, legacy: blobs }, null, 1)}\n`,
  );
});
