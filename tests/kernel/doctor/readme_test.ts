/** README's transcript of doctor is that of a run, but for what differs from machine to machine. */
import assert from "node:assert/strict";
import { ourProgramArgv } from "../rig/our_program.ts";
import { withOwnNamespace } from "../rig/own_namespace.ts";

const root = new URL("../../../", import.meta.url).pathname;

/** What is measured, and the kernel's release. */
function comparable(text: string): string {
  return text.replaceAll(/Linux \S+:/g, "Linux:").replaceAll(
    /\d+ (ms|messages?|MB|packets?)\b/g,
    "N $1",
  )
    .replaceAll(/\s+/g, " ").trim();
}

Deno.test("README shows what doctor says", async () => {
  const readme = await Deno.readTextFile(`${root}README.md`);
  const found = /From a run with `([^`]+)`:\n```\n([\s\S]+?)```/.exec(readme);
  assert.ok(found, "README has no run of doctor");
  const [, flags, transcript] = found;
  await withOwnNamespace(async ({ run }) => {
    await run("ip", "address", "add", "10.20.0.7/32", "dev", "lo");
    await run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0p");
    await run("ip", "address", "add", "192.168.1.1/24", "dev", "eth0");
    await run("ip", "address", "add", "fd00:192:168:1::1/64", "dev", "eth0", "nodad");
    await run("ip", "link", "set", "eth0", "up");
    await run("sysctl", "-qw", "net.ipv4.ip_forward=1");
    const cluster = ["--manifests", `${root}examples/shop`, "--node", "shop-node"];
    const told = await run(...ourProgramArgv(), "doctor", ...cluster, ...flags.split(" "));
    assert.equal(comparable(told), comparable(transcript), told);
  });
});
