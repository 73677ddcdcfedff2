import assert from "node:assert/strict";
import { readKernelLog, type Syslog } from "../../../../lib/kernel/inspection/kernel_log.ts";

const sizeOfBuffer = 10;

/** A ring of so many bytes that holds this text. */
function holding(text: string, size = 4_096): Syslog & { readonly asked: number[] } {
  const asked: number[] = [];
  const call: Syslog = (action, buffer, length) => {
    asked.push(action);
    if (action === sizeOfBuffer) return size;
    assert.equal(buffer?.length, length);
    return buffer ? new TextEncoder().encodeInto(text, buffer).written : -1;
  };
  return Object.assign(call, { asked });
}

Deno.test("readKernelLog() gives the lines of the ring, and takes none away", () => {
  const ring = holding("<6>[    0.0] Linux\n<4>[    9.1] watchdog: soft lockup\n");
  assert.deepEqual(readKernelLog(ring), [
    "<6>[    0.0] Linux",
    "<4>[    9.1] watchdog: soft lockup",
  ]);
  // SYSLOG_ACTION_READ_ALL, not READ_CLEAR.
  assert.deepEqual(ring.asked, [sizeOfBuffer, 3]);
});

Deno.test("readKernelLog() gives nothing of an empty ring", () => {
  assert.deepEqual(readKernelLog(holding("")), []);
});

Deno.test("readKernelLog() never asks for more than a kernel's largest ring", () => {
  assert.deepEqual(readKernelLog(holding("a\n", 2 ** 31 - 1)), ["a"]);
});

for (const [name, refuses] of [["its size", sizeOfBuffer], ["its lines", 3]] as const) {
  Deno.test(`readKernelLog() says what it takes where the kernel refuses ${name}`, () => {
    const ring = holding("a\n");
    const refusing: Syslog = (action, buffer, length) =>
      action === refuses ? -1 : ring(action, buffer, length);
    assert.throws(() => readKernelLog(refusing), {
      name: "NetlinkError",
      message: /^Cannot read the kernel's log: .*run as root or with CAP_SYSLOG$/,
    });
  });
}
