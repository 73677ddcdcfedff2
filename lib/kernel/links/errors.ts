/** What the kernel's refusals of address changes are told as. */
import { NetlinkError } from "../netlink/errors.ts";
import type { AddressChange, PreferredSource } from "./links.ts";

/** The refusal of one change as a sentence. */
export function refusedAddress(
  { ip, kind, prefixLength }: AddressChange,
  { errno, kernelMessage }: { readonly errno: number; readonly kernelMessage?: string },
): NetlinkError {
  const address = `address "${ip}/${prefixLength}"`;
  return new NetlinkError({
    op: kind === "add" ? `add ${address}` : `delete ${address}`,
    errno,
    ...(kernelMessage !== undefined && { kernelMessage }),
  });
}

/** The refusal of a source as a sentence. */
export function refusedSource(
  { ip, source }: PreferredSource,
  { errno, kernelMessage }: { readonly errno: number; readonly kernelMessage?: string },
): NetlinkError {
  return new NetlinkError({
    op: `have programs of this machine reach "${ip}" from "${source}"`,
    errno,
    ...(kernelMessage !== undefined && { kernelMessage }),
  });
}
