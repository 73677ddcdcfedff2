/** What the kernel's refusals of address changes are told as. */
import { NetlinkError } from "../netlink/errors.ts";
import type { AddressChange } from "./links.ts";

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
