import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import {
  MessageFlag,
  MessageType,
  readAnswer,
  readDoneErrno,
  readMessages,
} from "../../../../lib/kernel/netlink/messages.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";

/** `struct nlmsgerr`: the negative number, the request's header, and what follows. */
function answer(flags: number, errno: number, rest: readonly number[]): Uint8Array {
  const writer = new MessageWriter();
  const error = new Uint8Array(new Int32Array([-errno]).buffer);
  const requestHeader = new Uint8Array(new Uint32Array([24, 0, 0, 0]).buffer);
  const family = Uint8Array.from([...error, ...requestHeader, ...rest]);
  writer.begin({ type: MessageType.error, flags, sequence: 3 }, family);
  writer.end();
  return writer.bytes();
}

const EXTENDED = [9, 0, 1, 0, 104, 101, 121, 33, 0, 0, 0, 0, 8, 0, 2, 0, 36, 0, 0, 0];
const rows: readonly { name: string; flags: number; rest: readonly number[]; words: boolean }[] = [
  { name: "without an extended acknowledgement", flags: 0, rest: EXTENDED, words: false },
  {
    name: "with the request capped",
    flags: MessageFlag.capped | MessageFlag.extendedAck,
    rest: EXTENDED,
    words: true,
  },
  {
    name: "with the whole request before the words",
    flags: MessageFlag.extendedAck,
    rest: [1, 2, 3, 4, 5, 6, 7, 8, ...EXTENDED],
    words: true,
  },
];
for (const { name, flags, rest, words } of rows) {
  Deno.test(`readAnswer() reads a refusal ${name}`, () => {
    const [message] = [...readMessages(answer(flags, Errno.ENOENT, rest))];
    assert.deepEqual(
      readAnswer(message),
      words
        ? { sequence: 3, errno: Errno.ENOENT, kernelMessage: "hey!", offset: 36 }
        : { sequence: 3, errno: Errno.ENOENT },
    );
  });
}

Deno.test("readAnswer() reads an acknowledgement as error 0", () => {
  const [message] = [...readMessages(answer(MessageFlag.capped, 0, []))];
  assert.equal(readAnswer(message).errno, 0);
});

Deno.test("readDoneErrno() reads the number, and none as 0", () => {
  const done = (payload: Uint8Array) => ({ type: 3, flags: 2, sequence: 1, payload });
  assert.equal(readDoneErrno(done(new Uint8Array())), 0);
  const interrupted = new Uint8Array(new Int32Array([-Errno.EINTR]).buffer);
  assert.equal(readDoneErrno(done(interrupted)), Errno.EINTR);
});

Deno.test("readMessages() throws on lengths that leave the datagram", () => {
  const message = answer(0, 0, []);
  assert.throws(() => [...readMessages(message.subarray(0, message.length - 4))], RangeError);
  const short = message.slice();
  short[0] = 8;
  assert.throws(() => [...readMessages(short)], RangeError);
});
