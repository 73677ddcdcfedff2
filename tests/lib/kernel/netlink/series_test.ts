import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import type { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { sendSeries } from "../../../../lib/kernel/netlink/series.ts";
import { NetlinkProtocol, NetlinkSocket } from "../../../../lib/kernel/netlink/socket.ts";

const RTM_GETLINK = 18;
const IFLA_IFNAME = 3;
const count = 450;

/** Asks for this machine's links by name, of which there is but one. */
function question(name: string) {
  return {
    type: RTM_GETLINK,
    family: new Uint8Array(16),
    attributes: (writer: MessageWriter) => writer.string(IFLA_IFNAME, name),
  };
}

for (const good of [[0, 199, 200, 449], [1, 198, 201, 448]]) {
  Deno.test(`sendSeries() tells each refusal by its index, all but ${good}`, async () => {
    using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
    const refused = await sendSeries(socket, {
      op: "read links",
      count,
      request: (index) => question(good.includes(index) ? "lo" : "none"),
    });
    const wrong = Array.from({ length: count }, (_, index) => index)
      .filter((index) => refused.has(index) === good.includes(index));
    assert.deepEqual(wrong, []);
    assert.equal(refused.get(3)?.errno, Errno.ENODEV);
  });
}

Deno.test("sendSeries() without a request says nothing", async () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const request = () => assert.fail("there is none");
  assert.equal((await sendSeries(socket, { op: "read links", count: 0, request })).size, 0);
});

Deno.test("sendSeries() stops between two datagrams, and never within one", async () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const abort = new AbortController();
  let asked = 0;
  const series = {
    op: "read links",
    count,
    signal: abort.signal,
    request: () => {
      abort.abort();
      asked++;
      return question("none");
    },
  };
  await assert.rejects(sendSeries(socket, series), { name: "AbortError" });
  assert.equal(asked, 200);
});

Deno.test("sendSeries() lets others have their turn between datagrams", async () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  let asked = 0;
  let seen = 0;
  const request = () => {
    if (asked++ === 0) setTimeout(() => seen = asked, 0);
    return question("none");
  };
  await sendSeries(socket, { op: "read links", count, request });
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.ok(seen < count, `${seen}`);
});
