/** Settings of the kernel that this mode changes. */

/** Without it the kernel drops what a node port on 127.0.0.1 sends on to a pod. */
export const routeLocalnet = "net/ipv4/conf/all/route_localnet";
