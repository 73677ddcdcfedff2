/** What a kernel may answer to a request, told by one that answers as a test wants it. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { MessageFlag } from "../../../../lib/kernel/netlink/messages.ts";
import { dump, transact } from "../../../../lib/kernel/netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../../../../lib/kernel/netlink/socket.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { GenerationReader } from "../../../../lib/kernel/nf_tables/generation.ts";
import { GenAttr, genmsg, Msg } from "../../../../lib/kernel/nf_tables/wire.ts";
import {
  type Answer,
  answeringKernel,
  done,
  type Heard,
  message,
  refusal,
} from "../../../fakes/answering_kernel.ts";

const request = { op: "list things", type: 40, family: new Uint8Array(4) };
const thing = (sequence: number, number: number, flags = 0) =>
  message({ type: 40, sequence, flags }, Uint8Array.of(number, 0, 0, 0));

async function withSocket<T>(
  answer: (heard: Heard) => readonly Answer[],
  action: (socket: NetlinkSocket) => T,
): Promise<T> {
  return await answeringKernel(answer, () => {
    using socket = new NetlinkSocket({ protocol: NetlinkProtocol.netfilter });
    return Promise.try(() => action(socket));
  });
}

/** The things of a dump by number, and how often it was begun. */
async function dumped(answer: (heard: Heard) => readonly Answer[]) {
  let begun = 0;
  const numbers = await withSocket(answer, (socket) =>
    dump<number[]>(socket, request, {
      start: () => {
        begun++;
        return [];
      },
      add: (into, { payload }) => into.push(payload[0]),
    }));
  return { begun, numbers };
}

const join = (...datagrams: readonly Uint8Array[]) =>
  Uint8Array.from(datagrams.flatMap((each) => [...each]));

const dumps: readonly {
  readonly name: string;
  readonly answer: (sequence: number, attempt: number) => readonly Answer[];
  readonly begun?: number;
}[] = [
  {
    name: "in one datagram",
    answer: (sequence) => [join(thing(sequence, 1), thing(sequence, 2), done(sequence))],
  },
  {
    name: "in several",
    answer: (sequence) => [thing(sequence, 1), thing(sequence, 2), done(sequence)],
  },
  {
    name: "behind what belongs to another question",
    answer: (sequence) => [
      join(thing(sequence - 1, 7), done(sequence - 1), refusal(sequence - 1, Errno.EPERM)),
      join(thing(sequence, 1), thing(sequence, 2), done(sequence)),
    ],
  },
  {
    name: "behind an acknowledgement",
    answer: (sequence) => [
      refusal(sequence, 0),
      join(thing(sequence, 1), thing(sequence, 2)),
      done(sequence),
    ],
  },
  {
    name: "again after a torn one",
    answer: (sequence, attempt) => [
      thing(sequence, 1, attempt < 2 ? MessageFlag.dumpInterrupted : 0),
      thing(sequence, 2),
      done(sequence),
    ],
    begun: 3,
  },
  {
    name: "again after one whose end was torn",
    answer: (sequence, attempt) => [
      thing(sequence, 1),
      thing(sequence, 2),
      done(sequence, attempt === 0 ? Errno.EINTR : 0),
    ],
    begun: 2,
  },
  {
    name: "again after one of which something was lost",
    answer: (sequence, attempt) => [
      ...attempt === 0 ? [Errno.ENOBUFS] : [thing(sequence, 1)],
      thing(sequence, 2),
      done(sequence),
    ],
    begun: 2,
  },
];

for (const { answer, begun = 1, name } of dumps) {
  Deno.test(`dump() gives all: ${name}`, async () => {
    const found = await dumped(({ attempt, sequences: [sequence] }) => answer(sequence, attempt));
    assert.deepEqual(found, { begun, numbers: [1, 2] });
  });
}

Deno.test("dump() takes a torn one that is as good as a whole, and reads to its end for that", async () => {
  for (const [wanted, begun] of [["1,2,3", 1], ["1,2", 4]] as const) {
    let dumps = 0;
    const found = await withSocket(({ attempt, sequences: [sequence] }) => [
      thing(sequence, 1),
      thing(sequence, 2, attempt < 3 ? MessageFlag.dumpInterrupted : 0),
      thing(sequence, 3),
      done(sequence),
    ], (socket) =>
      dump<number[]>(socket, request, {
        start: () => (dumps++, []),
        add: (into, { payload }) => into.push(payload[0]),
        isGoodEvenTorn: (numbers) => String(numbers) === wanted,
      }));
    assert.deepEqual(found, [1, 2, 3]);
    assert.equal(dumps, begun);
  }
});

Deno.test("dump() gives up a table that is torn each time, and says so", async () => {
  let dumps = 0;
  const torn = dumped(({ sequences: [sequence] }) => {
    dumps++;
    return [thing(sequence, 1, MessageFlag.dumpInterrupted), done(sequence)];
  });
  await assert.rejects(torn, {
    message: "Cannot list things: what is listed changed during each of 20 attempts: " +
      "interrupted (EINTR)",
  });
  assert.equal(dumps, 20);
});

const refusals: readonly (readonly [name: string, (sequence: number) => Answer, errno: number])[] =
  [
    ["a refusal", (sequence) => refusal(sequence, Errno.EPERM), Errno.EPERM],
    ["an end with an error", (sequence) => done(sequence, Errno.ENOMEM), Errno.ENOMEM],
    ["no answer", () => Errno.EAGAIN, Errno.EAGAIN],
  ];

for (const [name, answer, errno] of refusals) {
  Deno.test(`dump() fails for ${name}, and asks no second time`, async () => {
    let asked = 0;
    const failed = dumped(({ sequences }) => {
      asked++;
      return [answer(sequences[0])];
    });
    await assert.rejects(failed, (error) => hasErrno(error, errno));
    assert.equal(asked, 1);
  });
}

Deno.test("dump() reads what its reader does not take to the end, and tells the first fault", async () => {
  let seen = 0;
  const failed = withSocket(
    ({ sequences: [sequence] }) => [thing(sequence, 1), thing(sequence, 2), done(sequence)],
    (socket) => {
      const add = () => {
        throw new TypeError(`thing ${++seen}`);
      };
      assert.throws(() => dump(socket, request, { start: () => 0, add }), /^TypeError: thing 1$/);
      return socket.receiveQueued("look");
    },
  );
  assert.equal(await failed, undefined);
});

Deno.test("transact() gives copies of what comes before its own acknowledgement", async () => {
  const flags: number[] = [];
  const replies = await withSocket(({ bytes, sequences: [sequence] }) => {
    flags.push(new DataView(bytes.buffer).getUint16(6, true));
    return [
      join(thing(sequence + 1, 9), refusal(sequence + 1, Errno.EPERM)),
      thing(sequence, 1),
      thing(sequence, 2),
      refusal(sequence, 0),
    ];
  }, (socket) => transact(socket, { ...request, flags: MessageFlag.echo }));
  assert.deepEqual(replies.map(({ payload }) => payload[0]), [1, 2]);
  assert.deepEqual(flags, [MessageFlag.request | MessageFlag.ack | MessageFlag.echo]);
});

function generationIs(sequence: number, generation?: number): Uint8Array {
  const writer = new MessageWriter(64);
  writer.begin({ type: Msg.getGen, flags: 0, sequence }, genmsg(0));
  if (generation !== undefined) writer.u32be(GenAttr.id, generation);
  writer.end();
  return writer.bytes();
}

async function generationOf(answer: (heard: Heard) => readonly Answer[]): Promise<number> {
  return await withSocket(answer, (socket) => new GenerationReader(socket).read());
}

Deno.test("GenerationReader reads its own answer, behind those to other questions", async () => {
  const answers = await withSocket(({ attempt, sequences: [sequence] }) => [
    join(refusal(sequence + 5, Errno.EPERM), generationIs(sequence - 1, 7)),
    generationIs(sequence, 100 + attempt),
  ], (socket) => {
    const reader = new GenerationReader(socket);
    return [reader.read(), reader.read(), reader.readIfTold()];
  });
  assert.deepEqual(answers, [100, 101, 102]);
});

Deno.test("GenerationReader says why there is no generation", async () => {
  const refused = (errno: number) =>
    generationOf(({ sequences }) => [refusal(sequences[0], errno)]);
  await assert.rejects(refused(Errno.EINVAL), {
    message: "Cannot read the nf_tables generation: operation not supported (EOPNOTSUPP); " +
      "this kernel lacks nf_tables or its module is not loaded",
  });
  await assert.rejects(refused(Errno.EPERM), /\(EPERM\); run as root/);
  const nothing = generationOf(({ sequences }) => [generationIs(sequences[0])]);
  await assert.rejects(
    nothing,
    /^TypeError: Cannot read the nf_tables generation: the kernel gave/,
  );
});

Deno.test("readIfTold() takes a refusal for an answer, and nothing else", async () => {
  const told = await withSocket(
    ({ sequences }) => [refusal(sequences[0], Errno.EPERM)],
    (socket) => new GenerationReader(socket).readIfTold(),
  );
  assert.ok(Number.isNaN(told));
  const broken = withSocket(
    ({ sequences }) => [generationIs(sequences[0])],
    (socket) => new GenerationReader(socket).readIfTold(),
  );
  await assert.rejects(broken, TypeError);
});
