/** What the kernel's refusals of IPVS changes mean. */
import { joinHostPort } from "../../base/ip.ts";
import { Errno } from "../errno.ts";
import { NetlinkError } from "../netlink/errors.ts";
import type { IpvsChange, IpvsFailure, IpvsFrontend, IpvsRefusal } from "./ipvs.ts";

/** What the kernel answered to a change. */
export interface IpvsAnswer {
  readonly errno: number;
  readonly kernelMessage?: string;
}

/** The failure of the change at this index. */
export function refusedChange(
  change: IpvsChange,
  index: number,
  { errno, kernelMessage }: IpvsAnswer,
): IpvsFailure {
  const refusal = refusalOf(change, errno);
  const said = refusal === "no-scheduler" && "scheduler" in change.server
    ? schedulerText(change.server.scheduler)
    : undefined;
  const words = said?.cause ?? kernelMessage;
  const error = new NetlinkError({
    op: describeIpvsChange(change),
    errno,
    ...(words !== undefined && { kernelMessage: words }),
    ...(said && { hint: said.hint }),
  });
  return { change: index, refusal, error };
}

/** Completes "Cannot …": `add virtual server "10.0.0.1:80/tcp"`. */
function describeIpvsChange(change: IpvsChange): string {
  const server = `virtual server "${nameOf(change.server)}"`;
  switch (change.kind) {
    case "add-server":
      return `add ${server}`;
    case "edit-server":
      return `change ${server}`;
    case "delete-server":
      return `delete ${server}`;
    default: {
      const { address, port } = change.destination;
      const destination = `destination "${joinHostPort(address, port)}"`;
      if (change.kind === "add-destination") return `add ${destination} to ${server}`;
      if (change.kind === "edit-destination") return `change ${destination} of ${server}`;
      return `delete ${destination} of ${server}`;
    }
  }
}

function nameOf({ address, port, protocol }: IpvsFrontend): string {
  return `${joinHostPort(address, port)}/${protocol}`;
}

function refusalOf({ kind }: IpvsChange, errno: number): IpvsRefusal {
  if (errno === Errno.EEXIST) return "exists";
  if (errno === Errno.ESRCH) return "no-server";
  if (errno !== Errno.ENOENT) return "other";
  return kind === "add-server" || kind === "edit-server" ? "no-scheduler" : "no-destination";
}

/** The kernel says no more than that something was not found. */
function schedulerText(scheduler: string): { readonly cause: string; readonly hint: string } {
  return {
    cause: `the kernel has no scheduler "${scheduler}"`,
    hint: `run "modprobe ip_vs_${scheduler}" on the node, or choose another scheduler`,
  };
}
