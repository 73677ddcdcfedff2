/** One address, where a refusal ends what is being done. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { AddressChange, Links } from "./links.ts";

/** An address of one host. */
export interface HostAddress {
  /** Canonical text. */
  readonly ip: string;
  readonly family: IpFamily;
  readonly linkIndex: number;
}

/** Puts the address on its link or takes it from there, alone in its network; throws what was refused. */
export async function changeAddress(
  links: Links,
  { family, kind, ...rest }: HostAddress & Pick<AddressChange, "kind">,
): Promise<void> {
  const prefixLength = family === "IPv4" ? 32 : 128;
  const [failure] = await links.changeAddresses([{ kind, ...rest, prefixLength }]);
  if (failure) throw failure.error;
}
