/** Other tools on a node read our table with their own version of nft: Debian 12's, and a newer one. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { NftablesWriter } from "../../../lib/writers/nftables/writer.ts";
import { everyShape, snapshotOf } from "../../lib/writers/nftables/samples.ts";
import { newerTool, versionOf } from "../rig/newer_tool.ts";
import { sortElements } from "./listings.ts";
import { NftNamespace } from "./namespace.ts";
import { sampleOperations, table } from "../../lib/kernel/nftables/sample.ts";

/** Prints what is missing where it cannot be had; continuous integration takes no such excuse. */
const newer = await newerTool("nft");
const versions = [
  { name: "the machine's nft", program: "nft" },
  { name: "a newer nft", program: newer },
] as const;

for (const { name, program } of versions) {
  for (const family of ipFamilies) {
    const ignore = program === undefined && !Deno.env.has("CI");
    Deno.test({
      name: `${name} lists what we write, and reloads its listing to the same, ${family}`,
      ignore,
      fn: async (t) => {
        assert.ok(program, "no newer nft: see scripts/newer-tool");
        await t.step("every shape of Service", async () => {
          await assertListsAlike(program, async (namespace) => {
            using nftables = namespace.open();
            const writer = new NftablesWriter({ family, nftables, masqueradeBit: 14 });
            const snapshot = snapshotOf(family, everyShape(family), { leftovers: true });
            await writer.sync(snapshot, { kind: "all" }, new AbortController().signal);
          });
        });
        await t.step("every word of the language", async () => {
          await assertListsAlike(program, async (namespace) => {
            using nftables = namespace.open();
            const nftFamily = family === "IPv4" ? "ip" : "ip6";
            await nftables.commit(table(nftFamily), sampleOperations(nftFamily));
          });
        });
      },
    });
  }
}

Deno.test({
  name: "the newer nft is newer",
  ignore: newer === undefined && !Deno.env.has("CI"),
  fn: async () => {
    assert.ok(newer, "no newer nft: see scripts/newer-tool");
    const [ours, theirs] = await Promise.all([versionOf(["nft"]), versionOf([newer])]);
    assert.ok(theirs > ours, `${theirs} > ${ours}`);
  },
});

/** A namespace for each listing, and only one version of nft in each. */
async function assertListsAlike(
  program: string,
  write: (namespace: NftNamespace) => Promise<void>,
): Promise<void> {
  await using written = await NftNamespace.create(program);
  await write(written);
  const listing = await written.listing();
  assert.match(listing, /table ip6? kube-proxy/);
  await using reloaded = await NftNamespace.create(program);
  await reloaded.nft(["-f", "-"], listing);
  assert.equal(sortElements(await reloaded.listing()), sortElements(listing));
}
