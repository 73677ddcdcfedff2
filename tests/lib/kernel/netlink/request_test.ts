import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { readAttributes, readString } from "../../../../lib/kernel/netlink/attributes.ts";
import { hasErrno, NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import type { NetlinkMessage } from "../../../../lib/kernel/netlink/messages.ts";
import { dump, transact } from "../../../../lib/kernel/netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../../../../lib/kernel/netlink/socket.ts";

const RTM_GETLINK = 18;
const IFLA_IFNAME = 3;
const IFINFOMSG = new Uint8Array(16);
const links = { op: "list links", type: RTM_GETLINK, family: IFINFOMSG };

function nameOf(message: NetlinkMessage): string {
  const found = readAttributes(message.payload.subarray(IFINFOMSG.length)).get(IFLA_IFNAME);
  return readString(found ?? new Uint8Array());
}

Deno.test("dump() lists this machine's links", () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const names = dump<string[]>(socket, links, {
    start: () => [],
    add: (into, message) => into.push(nameOf(message)),
  });
  assert.ok(names.includes("lo"), names.join());
});

Deno.test("transact() returns the one object that is asked for", () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const replies = transact(socket, {
    ...links,
    attributes: (writer) => writer.string(IFLA_IFNAME, "lo"),
  });
  assert.deepEqual(replies.map(nameOf), ["lo"]);
});

Deno.test("transact() throws the kernel's refusal with the operation's name", () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const request = {
    ...links,
    op: 'read link "none"',
    attributes: (writer: { string(type: number, value: string): void }) =>
      writer.string(IFLA_IFNAME, "none"),
  };
  assert.throws(() => transact(socket, request), (error) => {
    assert.ok(hasErrno(error, Errno.ENODEV));
    assert.equal(error.op, 'read link "none"');
    assert.equal(error.message, 'Cannot read link "none": no such device (ENODEV)');
    return true;
  });
});

Deno.test("dump() leaves the socket usable when its collector throws", () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  const failing = {
    start: () => [],
    add: () => {
      throw new TypeError("no link of ours");
    },
  };
  assert.throws(() => dump<string[]>(socket, links, failing), /no link of ours/);
  const again = dump<string[]>(socket, links, {
    start: () => [],
    add: (into, message) => into.push(nameOf(message)),
  });
  assert.ok(again.includes("lo"));
});

Deno.test("receive() gives up after its timeout instead of waiting for ever", () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route, receiveTimeoutMs: 20 });
  assert.throws(
    () => socket.receive("hear nothing"),
    (error) => hasErrno(error, Errno.EAGAIN),
  );
  assert.equal(socket.receiveQueued("hear nothing"), undefined);
});

Deno.test("waitReadable() tells whether something came", async () => {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  assert.equal(await socket.waitReadable(5), false);
});

Deno.test("a protocol that the kernel lacks is a typed error with a hint", () => {
  const unknown = 29;
  assert.throws(() => new NetlinkSocket({ protocol: unknown }), (error) => {
    assert.ok(error instanceof NetlinkError);
    assert.match(error.message, /^Cannot open a netlink socket: .*; this kernel lacks/);
    return true;
  });
});
