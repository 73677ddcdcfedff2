/// <reference lib="deno.worker" />
/** Moves itself into an empty namespace and tells which links it sees there. */
import { NetlinkLinks } from "../../../lib/kernel/links/netlink_links.ts";
import { unshareNetworkNamespace } from "../../../lib/kernel/netns.ts";

unshareNetworkNamespace();
self.postMessage(new NetlinkLinks().links().map(({ name, up }) => `${name} ${up}`));
