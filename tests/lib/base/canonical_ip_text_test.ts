import assert from "node:assert/strict";
import { isCanonicalIpText } from "../../../lib/base/canonical_ip_text.ts";
import { formatIp, parseIp } from "../../../lib/base/ip.ts";

const canonical = [
  "0.0.0.0",
  "10.128.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "1::",
  "fd00:10:128::1",
  "2001:db8:0:1:1:1:1:1",
  "2001:0:0:1::1",
  "1:0:0:2::3",
  "1::2:0:0:3",
];
const notCanonical = [
  "",
  "10.0.0",
  "10.0.0.01",
  "10.0.0.256",
  "10.0.0.1.",
  ".10.0.0.1",
  "10..0.1",
  "1.2.3.4 ",
  "FD00::1",
  "fd00::01",
  "fd00:0:0::1",
  "0:0:0:0:0:0:0:1",
  "1:2:3:4:5:6:7::",
  "::ffff:1.2.3.4",
  "::ffff:102:304",
  "1:0:0:0:2::3",
  "1:0::2",
  "1::0:2",
  "1::2::3",
  "1:::2",
  ":1",
  "1:",
  "12345::",
  "g::1",
];

Deno.test("isCanonicalIpText() accepts canonical text and refuses every other spelling", () => {
  for (const text of canonical) assert.equal(isCanonicalIpText(text), true, text);
  for (const text of notCanonical) assert.equal(isCanonicalIpText(text), false, text);
});

Deno.test("isCanonicalIpText() says yes to text that formatting gives and no to what it changes", () => {
  const groups = ["0", "0", "1", "ab", "00", "fFff"];
  for (let step = 0; step < 20_000; step++) {
    const parts = Array.from(
      { length: 8 },
      (_, i) => groups[(step * (i + 3) * 7919 >> i) % groups.length],
    );
    const cut = step % 9;
    const text = step % 2
      ? parts.join(":")
      : `${parts.slice(0, cut).join(":")}::${parts.slice(cut + 2).join(":")}`;
    const bytes = parseIp(text);
    if (isCanonicalIpText(text)) assert.equal(bytes && formatIp(bytes), text);
    if (!bytes) continue;
    const formatted = formatIp(bytes);
    if (!formatted.startsWith("::ffff:")) {
      assert.equal(isCanonicalIpText(formatted), true, formatted);
    }
  }
});
