/** The kernel's version, as `uname -r` prints it. */
import type { Host } from "../../kernel/host.ts";
import type { FactReader } from "../fact.ts";
import { known, unknown } from "./known.ts";
import type { KernelVersion } from "./node_values.ts";

/** Reads it. */
export function kernelVersionReader(host: Pick<Host, "kernelRelease">): FactReader<KernelVersion> {
  return {
    read: () => {
      const release = host.kernelRelease();
      const [, major, minor] = /^(\d+)\.(\d+)/.exec(release) ?? [];
      if (major === undefined) return unknown(`"${release}" is no version of a kernel`);
      return known({ release, major: Number(major), minor: Number(minor) });
    },
  };
}
