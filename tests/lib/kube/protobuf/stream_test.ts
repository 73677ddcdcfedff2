import assert from "node:assert/strict";
import { readWatchFrame } from "../../../../lib/kube/protobuf/envelope.ts";
import { MalformedMessageError, TextCache } from "../../../../lib/kube/protobuf/reader.ts";
import { FrameSplitter, ListSplitter } from "../../../../lib/kube/protobuf/stream.ts";
import { body, frame, message } from "../../../fakes/protobuf_writer.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const item = (name: string) => message([[1, [[1, name]]]]);
const names = ["one", "x".repeat(300), "three"];
const list = body(
  "ServiceList",
  message([[1, [[2, "42"], [3, "next-page"]]], ...names.map((name) => [2, item(name)] as const)]),
);

function splitList(bytes: Uint8Array, chunkSize: number) {
  const splitter = new ListSplitter(new TextCache());
  const items: string[] = [];
  for (let at = 0; at < bytes.length; at += chunkSize) {
    // A copy, as a socket gives it: the splitter may keep it.
    const chunk = bytes.slice(at, at + chunkSize);
    for (const bytesOfItem of splitter.push(chunk)) items.push(text(bytesOfItem));
  }
  return { items, meta: splitter.end() };
}

for (const chunkSize of [1, 2, 3, 7, 100, 100_000]) {
  Deno.test(`ListSplitter finds every item in chunks of ${chunkSize} bytes`, () => {
    const { items, meta } = splitList(list, Math.min(chunkSize, list.length));
    assert.deepEqual(items, names.map((name) => text(item(name))));
    assert.deepEqual(meta, { resourceVersion: "42", continueToken: "next-page" });
  });
}

Deno.test("ListSplitter takes a list that is cut off anywhere for an error", () => {
  // The last four bytes are the envelope's two empty fields behind the list.
  for (let length = 0; length < list.length - 4; length++) {
    assert.throws(
      () => splitList(list.subarray(0, length), 50),
      MalformedMessageError,
      `${length}`,
    );
  }
});

Deno.test("ListSplitter refuses a body that is no message of the API", () => {
  assert.throws(
    () => splitList(new TextEncoder().encode("<html></html>"), 50),
    MalformedMessageError,
  );
});

for (const chunkSize of [1, 3, 64, 100_000]) {
  Deno.test(`FrameSplitter finds every frame in chunks of ${chunkSize} bytes`, () => {
    const frames = names.map((name) => frame("ADDED", body("Service", item(name))));
    const bytes = Uint8Array.from(frames.flatMap((one) => [...one]));
    const splitter = new FrameSplitter();
    const cache = new TextCache();
    const seen: string[] = [];
    for (let at = 0; at < bytes.length; at += chunkSize) {
      for (const content of splitter.push(bytes.slice(at, at + chunkSize))) {
        const { type, body: object } = readWatchFrame(content, cache);
        seen.push(`${type} ${object.kind} ${text(object.raw)}`);
      }
    }
    assert.deepEqual(seen, names.map((name) => `ADDED Service ${text(item(name))}`));
    assert.equal(splitter.pending, 0);
  });
}

Deno.test("FrameSplitter refuses a frame of absurd length", () => {
  const splitter = new FrameSplitter();
  assert.throws(() => [...splitter.push(Uint8Array.of(0x7f, 0, 0, 0))], MalformedMessageError);
});

const mostBytes = 64 * 1024 * 1024;

/** The number as the next bytes have it. */
function varint(value: number): number[] {
  return value < 0x80 ? [value] : [value & 0x7f | 0x80, ...varint(value >>> 7)];
}

Deno.test("a frame and an item of 64 MiB are waited for, larger ones refused", () => {
  const listHead = [0x6b, 0x38, 0x73, 0x00, 0x12, ...varint(2 ** 31 - 1), 0x12];
  for (const [length, isRefused] of [[mostBytes, false], [mostBytes + 1, true]] as const) {
    const frame = Uint8Array.of(
      length >> 24,
      length >> 16 & 0xff,
      length >> 8 & 0xff,
      length & 0xff,
    );
    const item = Uint8Array.of(...listHead, ...varint(length));
    const frames = () => [...new FrameSplitter().push(frame)];
    const items = () => [...new ListSplitter(new TextCache()).push(item)];
    for (const read of [frames, items]) {
      if (isRefused) assert.throws(read, MalformedMessageError);
      else assert.deepEqual(read(), []);
    }
  }
});

Deno.test("ListSplitter refuses numbers that never end", () => {
  const endless = Uint8Array.of(0x6b, 0x38, 0x73, 0x00, ...Array<number>(11).fill(0xff));
  assert.throws(() => [...new ListSplitter(new TextCache()).push(endless)], /more than ten bytes/);
});

Deno.test("a frame of more than two gigabytes is refused as what it says it is", () => {
  const head = Uint8Array.of(0x90, 0, 0, 1);
  assert.throws(() => [...new FrameSplitter().push(head)], /a frame of 2415919105 bytes/);
});

Deno.test("ListSplitter passes fields of fixed width", () => {
  const fixed = (number: number, wire: 1 | 5) =>
    Uint8Array.of(number << 3 | wire, ...new Uint8Array(wire === 1 ? 8 : 4).fill(0xff));
  const withFixed = Uint8Array.from([
    ...fixed(9, 1),
    ...message([[2, item("one")]]),
    ...fixed(10, 5),
    ...message([[2, item("two")]]),
  ]);
  const { items } = splitList(body("ServiceList", withFixed), 3);
  assert.deepEqual(items, [text(item("one")), text(item("two"))]);
});
