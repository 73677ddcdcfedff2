/** What the kernel is told when an interface is set up; that it obeys is seen in root tests. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { addDefaultRoute, setLinkUp } from "../../../../lib/kernel/links/set_up.ts";
import { hasErrno } from "../../../../lib/kernel/netlink/errors.ts";
import { answeringKernel, refusal } from "../../../fakes/answering_kernel.ts";

/** The type, the flags that make something, and the bytes behind the header. */
async function told(action: () => void, errno = 0): Promise<readonly string[]> {
  const heard: string[] = [];
  await answeringKernel(({ bytes, sequences, types }) => {
    const flags = new DataView(bytes.buffer).getUint16(6, true) & 0xff00;
    heard.push(`${types.join()} ${flags.toString(16)} ${bytes.slice(16).toHex()}`);
    return [refusal(sequences[0], errno)];
  }, () => Promise.resolve(action()));
  return heard;
}

Deno.test("setLinkUp() sets one flag of the interface, and no other", async () => {
  // RTM_NEWLINK; struct ifinfomsg: the index, IFF_UP, and the mask of what changes.
  assert.deepEqual(await told(() => setLinkUp(7)), ["16 0 00000000070000000100000001000000"]);
});

Deno.test("addDefaultRoute() makes a route to everything on the link", async () => {
  // RTM_NEWROUTE with NLM_F_CREATE and NLM_F_EXCL; struct rtmsg: main, static, link, unicast; RTA_OIF.
  const rest = "000000fe04fd01" + "00000000" + "0800040007000000";
  assert.deepEqual(await told(() => addDefaultRoute(7, "IPv4")), [`24 600 02${rest}`]);
  assert.deepEqual(await told(() => addDefaultRoute(7, "IPv6")), [`24 600 0a${rest}`]);
});

Deno.test("what the kernel refuses to set up is told by what was to be done", async () => {
  const refused = (what: RegExp) => (error: Error) =>
    hasErrno(error, Errno.EPERM) && what.test(error.message);
  await assert.rejects(told(() => setLinkUp(7), Errno.EPERM), refused(/switch on interface 7/));
  await assert.rejects(
    told(() => addDefaultRoute(7, "IPv4"), Errno.EPERM),
    refused(/add a default route/),
  );
});
