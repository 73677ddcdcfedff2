/** Batches that the socket does not take: its send buffer cannot grow without rights over the machine. */
import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../lib/kernel/netlink/errors.ts";
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { DirectTransport } from "../../../lib/kernel/nf_tables/direct_transport.ts";
import { NetlinkNftables } from "../../../lib/kernel/nftables/netlink_nftables.ts";
import type {
  CommitResult,
  CommitSeries,
  NfTransport,
} from "../../../lib/kernel/nf_tables/transport.ts";
import { NftablesWriter } from "../../../lib/writers/nftables/writer.ts";
import { servicePorts, snapshotOf } from "../../bench/services.ts";
import { NftNamespace } from "./namespace.ts";

const { signal } = new AbortController();
const root = new URL("../../../", import.meta.url);

Deno.test("a batch larger than the send buffer may grow is refused as a whole, with what to do", async () => {
  const script = `
    import { openNftablesInThread } from "${new URL(
    "lib/kernel/nftables/netlink_nftables.ts",
    root,
  )}";
    using nftables = openNftablesInThread();
    const table = { family: "ip", name: "x" };
    const set = { name: "ips", key: ["addr", "index"] };
    const limit = Number(Deno.readTextFileSync("/proc/sys/net/core/wmem_max"));
    // The kernel doubles what a socket asks for.
    const elements = Array.from({ length: limit / 8 }, (_, i) => ({ key: ["172.30.0.1", i] }));
    await nftables.commit(table, [{ kind: "add-table" }, { kind: "add-set", set }]);
    try {
      await nftables.commit(table, [{ kind: "add-elements", set: "ips", elements }]);
      console.log("committed");
    } catch (error) {
      console.log(error.name, error.message);
    }
    await nftables.commit(table, [
      { kind: "add-elements", set: "ips", elements: elements.slice(0, 1000) },
    ]);
    console.log((await nftables.listElements(table, set)).length);`;
  // Root of a user namespace rules its own network namespace, and no limits of the machine.
  const { stderr, stdout } = await new Deno.Command("unshare", {
    args: ["--user", "--map-root-user", "--net", Deno.execPath(), "run", "-A", "--no-lock"]
      .concat("--no-check", `data:application/typescript,${encodeURIComponent(script)}`),
  }).output();
  assert.equal(
    new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr),
    'NfTablesError Cannot change table "ip x": message too long for the socket (EMSGSIZE); ' +
      "raise net.core.wmem_max, or run as root of the machine\n1000\n",
  );
});

Deno.test("the writer loads everything in batches that the socket takes", async () => {
  await using namespace = await NftNamespace.create();
  const snapshot = snapshotOf(servicePorts({ services: 2_500, endpoints: 3 }));
  using nftables = inNetworkNamespace(
    namespace.path,
    () => new NetlinkNftables(new SmallTransport(50_000)),
  );
  const writer = new NftablesWriter({ family: "IPv4", nftables, masqueradeBit: 14 });
  const { notices } = await writer.sync(snapshot, { kind: "all" }, signal);
  assert.deepEqual(notices, []);

  using unlimited = namespace.open();
  const other = new NftablesWriter({ family: "IPv4", nftables: unlimited, masqueradeBit: 14 });
  assert.equal((await other.sync(snapshot, { kind: "all" }, signal)).written, 0);
});

/** The kernel with a socket that takes batches up to a size. */
class SmallTransport implements NfTransport {
  readonly #direct = new DirectTransport();
  readonly largestBatch: number;

  constructor(limit: number) {
    this.largestBatch = limit;
  }

  commit(bytes: Uint8Array<ArrayBuffer>, series?: CommitSeries): Promise<CommitResult> {
    if (bytes.length <= this.largestBatch) return this.#direct.commit(bytes, series);
    return Promise.reject(new NetlinkError({ op: "send", errno: Errno.EMSGSIZE }));
  }

  generation: NfTransport["generation"] = () => this.#direct.generation();
  visit: NfTransport["visit"] = (query, visit) => this.#direct.visit(query, visit);
  queryEach: NfTransport["queryEach"] = (queries) => this.#direct.queryEach(queries);
  query: NfTransport["query"] = (query) => this.#direct.query(query);
  digests: NfTransport["digests"] = (query) => this.#direct.digests(query);
  lookUp: NfTransport["lookUp"] = (query, elements) => this.#direct.lookUp(query, elements);
  compare: NfTransport["compare"] = (query, desired) => this.#direct.compare(query, desired);

  close(): void {
    this.#direct.close();
  }
}
