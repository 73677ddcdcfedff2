/** Dumps that the kernel calls torn: repeated, or taken where their collector says so. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno, NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { MessageFlag, MessageType } from "../../../../lib/kernel/netlink/messages.ts";
import {
  dump,
  type DumpCollector,
  type RequestSocket,
} from "../../../../lib/kernel/netlink/request.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";

/** What one dump gives: a message for each letter, `!` before one that comes behind a commit. */
type Dump = string | { readonly letters: string; readonly fate: "lost" | "ended" };

const ITEM = 0x20;
const torn = MessageFlag.dumpInterrupted;

/** A kernel that gives these dumps one after the other, and the last one for ever. */
class ScriptedSocket implements RequestSocket {
  asked = 0;
  readonly #dumps: readonly Dump[];
  readonly #queue: (Uint8Array<ArrayBuffer> | "lost")[] = [];

  constructor(...dumps: readonly Dump[]) {
    this.#dumps = dumps;
  }

  nextSequence(): number {
    return this.asked + 1;
  }

  send(): void {
    const each = this.#dumps[Math.min(this.asked, this.#dumps.length - 1)];
    this.asked++;
    const { fate, letters } = typeof each === "string" ? { letters: each, fate: undefined } : each;
    for (const [item] of letters.matchAll(/!?\w/g)) {
      const flags = item.startsWith("!") ? torn : 0;
      this.#queue.push(this.#message(ITEM, flags, new TextEncoder().encode(item.slice(-1))));
    }
    if (fate === "lost") this.#queue.push("lost");
    const errno = fate === "ended" ? Errno.EINTR : 0;
    const status = new Uint8Array(Int32Array.of(-errno).buffer);
    this.#queue.push(this.#message(MessageType.done, 0, status));
  }

  receive(op: string): Uint8Array {
    const next = this.#queue.shift();
    if (next === undefined) throw new TypeError("nothing is queued");
    if (next === "lost") throw new NetlinkError({ op, errno: Errno.ENOBUFS });
    return next;
  }

  #message(type: number, flags: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
    const writer = new MessageWriter();
    writer.begin({ type, flags, sequence: this.asked }, payload);
    writer.end();
    return writer.bytes();
  }
}

const request = { op: "list letters", type: 1, family: new Uint8Array(4) };
const letters: DumpCollector<string[]> = {
  start: () => [],
  add: (into, { payload }) => into.push(String.fromCharCode(payload[0])),
};
const agreeing: DumpCollector<string[]> = {
  ...letters,
  agrees: (earlier, later) => earlier.join() === later.join(),
};

interface Row {
  readonly name: string;
  readonly dumps: readonly Dump[];
  readonly collector: DumpCollector<string[]>;
  readonly gives: string;
  readonly asks: number;
}

const rows: readonly Row[] = [
  { name: "a whole one is taken", dumps: ["abc"], collector: agreeing, gives: "abc", asks: 1 },
  {
    name: "a torn one is repeated until one is whole",
    dumps: ["a!bc", "a!bc", "abc"],
    collector: letters,
    gives: "abc",
    asks: 3,
  },
  {
    name: "the second of two torn ones that agree is taken",
    dumps: ["a!b", "a!bc", "!abc", "abcd"],
    collector: agreeing,
    gives: "abc",
    asks: 3,
  },
  {
    name: "torn ones agree with the one right before them alone",
    dumps: ["a!b", "a!c", "a!b", "abc"],
    collector: agreeing,
    gives: "abc",
    asks: 4,
  },
  {
    name: "where messages got lost nothing agrees",
    dumps: ["a!b", { letters: "a!b", fate: "lost" }, "a!b", "abc"],
    collector: agreeing,
    gives: "abc",
    asks: 4,
  },
  {
    name: "one that the kernel ended early agrees with none",
    dumps: ["a!b", { letters: "a!b", fate: "ended" }, "abc"],
    collector: agreeing,
    gives: "abc",
    asks: 3,
  },
];

for (const { asks, collector, dumps, gives, name } of rows) {
  Deno.test(`dump(): ${name}`, () => {
    const socket = new ScriptedSocket(...dumps);
    assert.equal(dump(socket, request, collector).join(""), gives);
    assert.equal(socket.asked, asks);
  });
}

Deno.test("dump() gives up after twenty torn ones of which no two in a row agree", () => {
  const socket = new ScriptedSocket(
    ...Array.from({ length: 20 }, (_, index) => index % 2 === 0 ? "a!b" : "a!c"),
  );
  assert.throws(() => dump(socket, request, agreeing), (error) => {
    assert.ok(hasErrno(error, Errno.EINTR));
    assert.match(error.message, /changed during each of 20 attempts/);
    return true;
  });
  assert.equal(socket.asked, 20);
});
