import assert from "node:assert/strict";
import { setText } from "../../../../lib/kernel/ipset/text.ts";

Deno.test("setText() is what `ipset save` prints", () => {
  assert.deepEqual([
    setText({ name: "A", type: "bitmap:port" }),
    setText({ name: "B", type: "hash:ip,port", family: "IPv4" }),
    setText({ name: "C", type: "hash:ip", family: "IPv6" }),
  ], [
    "create A bitmap:port range 0-65535",
    "create B hash:ip,port family inet hashsize 1024 maxelem 65536",
    "create C hash:ip family inet6 hashsize 1024 maxelem 65536",
  ]);
});
