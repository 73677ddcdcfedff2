import { UsageError } from "../../lib/base/errors.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";

/** Throws where this process may not change the network. */
export function requireNetAdmin({ self }: Kernel): void {
  if (self.hasNetAdmin()) return;
  throw new UsageError(
    "Cannot clean up: this process lacks CAP_NET_ADMIN; run it as root, or with that capability",
  );
}
