/**
 * What the program encodes has the kernel's own bytes, so that a restart finds a hundred thousand
 * elements right without reading what any of them says.
 */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { DirectTransport } from "../../../lib/kernel/nf_tables/direct_transport.ts";
import { ElementWords, matchElements } from "../../../lib/kernel/nf_tables/match_elements.ts";
import { NetlinkNftables } from "../../../lib/kernel/nftables/netlink_nftables.ts";
import { NftablesWriter } from "../../../lib/writers/nftables/writer.ts";
import { everyShape, snapshotOf } from "../../lib/writers/nftables/samples.ts";
import { NftNamespace } from "./namespace.ts";

const { signal } = new AbortController();

for (const family of ipFamilies) {
  Deno.test(`a restart finds every element byte for byte, ${family}`, async () => {
    await using namespace = await NftNamespace.create();
    const snapshot = snapshotOf(family, everyShape(family));
    const { transport, ...restart } = open(namespace);
    using nftables = restart.nftables;
    const sync = () =>
      new NftablesWriter({ family, nftables, masqueradeBit: 14 })
        .sync(snapshot, { kind: "all" }, signal);
    assert.ok((await sync()).written > 0);
    transport.compared.length = 0;

    assert.equal((await sync()).written, 0);
    const withElements = transport.compared.filter(({ bytes }) => bytes > 0);
    assert.ok(withElements.length > 10, `only ${withElements.length} sets hold anything`);
    assert.deepEqual(transport.compared.filter(({ isSame }) => !isSame), []);
  });
}

function open(namespace: NftNamespace) {
  return inNetworkNamespace(namespace.path, () => {
    const transport = new WatchedTransport();
    return { transport, nftables: new NetlinkNftables(transport) };
  });
}

/** Notes of each comparison whether the bytes alone settle it. */
class WatchedTransport extends DirectTransport {
  readonly compared: { op: string; bytes: number; isSame: boolean }[] = [];

  override compareDump(
    dumped: Uint8Array,
    wanted: Parameters<DirectTransport["compareDump"]>[1],
  ): ReturnType<DirectTransport["compareDump"]> {
    const { desired, query } = wanted;
    const [there, asked] = [ElementWords.of(dumped), ElementWords.of(desired)];
    const isSame = there !== undefined && asked !== undefined &&
      isNone(matchElements(there, asked));
    this.compared.push({ op: query.op, bytes: dumped.length, isSame });
    return super.compareDump(dumped, wanted);
  }
}

function isNone({ first, isTwice, second }: ReturnType<typeof matchElements>): boolean {
  return !isTwice && first.length === 0 && second.length === 0;
}
