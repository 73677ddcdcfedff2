import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { fakeAddress, FakeLinks } from "../../../lib/kernel/links/fake_links.ts";
import { NetlinkError } from "../../../lib/kernel/netlink/errors.ts";
import { type AddressParts, followAddresses, readAddresses } from "../../../lib/node/addresses.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";

/** Interfaces whose addresses change while they are listed, as long as `torn` says. */
class BusyLinks extends FakeLinks {
  torn = 0;
  lists = 0;
  errno: number = Errno.EINTR;

  override addresses() {
    this.lists++;
    if (this.torn-- > 0) {
      throw new NetlinkError({ op: "list interface addresses", errno: this.errno });
    }
    return super.addresses();
  }
}

function rig(torn = 0) {
  const links = new BusyLinks({ addresses: [fakeAddress("192.168.0.1")] });
  links.torn = torn;
  const told: string[] = [];
  const clock = new FakeClock();
  const logger = new FakeLogger();
  const state = {
    setInterfaceAddresses: (all: readonly string[], standIns: readonly string[] = []) =>
      told.push([all, ...standIns.length > 0 ? [standIns] : []].join(" own ")) > 0,
  };
  return { links, told, clock, logger, parts: { links, state, clock, logger, standIn: false } };
}

async function following(
  { parts, clock }: { readonly parts: AddressParts; readonly clock: FakeClock },
  body: () => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const running = followAddresses(parts, stop.signal);
  await clock.advance(0);
  await body();
  stop.abort();
  await running;
}

Deno.test("followAddresses() tells all addresses at first and whenever some come or go, until the signal", async () => {
  const made = rig();
  const { links, told, clock } = made;
  await following(made, async () => {
    links.setAddresses([fakeAddress("192.168.0.1"), fakeAddress("fd00:192:168::1")]);
    await clock.advance(0);
  });
  links.setAddresses([]);
  await clock.advance(10_000);
  assert.deepEqual(told, ["192.168.0.1", "192.168.0.1,fd00:192:168::1"]);
});

Deno.test("addresses of a mode's own link are no node's, at the start and later", async () => {
  const made = rig();
  const { links, told, clock, parts } = made;
  const vip = fakeAddress("172.30.0.1", { linkIndex: 9, linkName: "own0" });
  links.setAddresses([fakeAddress("192.168.0.1"), vip]);
  await readAddresses({ ...parts, ownLink: "own0" }, new AbortController().signal);
  await following({ ...made, parts: { ...parts, ownLink: "own0" } }, async () => {
    links.setAddresses([fakeAddress("192.168.0.1"), vip, fakeAddress("192.168.0.3")]);
    await clock.advance(0);
  });
  assert.deepEqual(told, ["192.168.0.1", "192.168.0.1", "192.168.0.1,192.168.0.3"]);
});

Deno.test("followAddresses() asks again for a list that cannot be had now, and says so once a minute", async () => {
  const made = rig(3);
  const { told, clock, logger } = made;
  await following(made, async () => {
    assert.deepEqual(told, []);
    await clock.advance(2_000);
    assert.deepEqual(told, []);
    await clock.advance(1_000);
  });
  assert.deepEqual(told, ["192.168.0.1"]);
  assert.deepEqual(logger.lines, [
    "error Cannot follow the addresses of this node's interfaces; trying again in 1 s",
  ]);
});

Deno.test("followAddresses() says a failure again that comes after the list could be had", async () => {
  const made = rig(1);
  const { links, clock, logger } = made;
  await following(made, async () => {
    await clock.advance(1_000);
    links.torn = 1;
    links.setAddresses([]);
    await clock.advance(1_000);
  });
  assert.equal(logger.lines.length, 2);
});

Deno.test("followAddresses() rests nine times as long as reading took", async () => {
  const made = rig();
  const { links, clock } = made;
  const startedAt: number[] = [];
  const begin = clock.monotonic();
  links.addresses = () => {
    links.lists++;
    startedAt.push(clock.monotonic() - begin);
    clock.pass(100);
    return [];
  };
  await following(made, async () => {
    for (let i = 0; i < 20; i++) {
      links.setAddresses([]);
      await clock.advance(100);
    }
  });
  // At 0 ms, and each time a list of 100 ms and a rest of 900 ms later.
  assert.equal(links.lists, 3);
  assert.deepEqual(startedAt, [0, 1_000, 2_000]);
});

Deno.test("readAddresses() tries again for a while, then goes on without and says so", async () => {
  const short = rig(2);
  const reading = readAddresses(short.parts, new AbortController().signal);
  await short.clock.advance(2_000);
  await reading;
  assert.deepEqual(short.told, ["192.168.0.1"]);
  assert.deepEqual(short.logger.lines, []);

  const waited = rig(2);
  void readAddresses(waited.parts, new AbortController().signal);
  await waited.clock.advance(1_999);
  assert.deepEqual(waited.told, [], "a second lies between two tries");

  const endless = rig(Infinity);
  const waiting = readAddresses(endless.parts, new AbortController().signal);
  await endless.clock.advance(9_000);
  await waiting;
  assert.deepEqual(endless.told, []);
  assert.equal(endless.links.lists, 10);
  assert.deepEqual(endless.logger.lines, [
    "error Going on without the addresses of this node's interfaces",
  ]);
});

Deno.test("readAddresses() throws what the kernel refuses, and ends with the signal", async () => {
  const refused = rig(1);
  refused.links.errno = Errno.EPERM;
  await assert.rejects(
    readAddresses(refused.parts, new AbortController().signal),
    /operation not permitted/,
  );
  await readAddresses(rig(Infinity).parts, AbortSignal.abort());
});

Deno.test("readAddresses() tells the host's own addresses where no Node does", async () => {
  const { links, parts, told } = rig();
  links.setAddresses([fakeAddress("192.168.0.1"), fakeAddress("192.168.0.7")]);
  await readAddresses({ ...parts, standIn: true }, new AbortController().signal);
  assert.deepEqual(told, ["192.168.0.1,192.168.0.7 own 192.168.0.1"]);
});
