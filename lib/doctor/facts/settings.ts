/** Settings of the kernel: as they are, and as files will make them at the next start. */
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { Sysctl } from "../../kernel/sysctl.ts";
import type { FactReader } from "../fact.ts";
import { known } from "./known.ts";
import type { ConfiguredSetting } from "./node_values.ts";
import { ofNodeNetwork } from "./rights.ts";
import { Setting } from "../judging/setting_names.ts";

/** Reads them as they are now. */
export function settingsReader(
  { hostRoot, sysctl }: { readonly sysctl: Pick<Sysctl, "read">; readonly hostRoot: string },
): FactReader<ReadonlyMap<string, string>> {
  return {
    read: ofNodeNetwork(hostRoot, () =>
      known(
        new Map(
          Object.values(Setting).flatMap((name) => {
            const value = sysctl.read(name);
            return value === undefined ? [] : [[name, value] as const];
          }),
        ),
      )),
  };
}

/** The first folder that has a file of some name decides over it. */
const folders = [
  "/etc/sysctl.d",
  "/run/sysctl.d",
  "/usr/local/lib/sysctl.d",
  "/usr/lib/sysctl.d",
  "/lib/sysctl.d",
];
const lastFile = "/etc/sysctl.conf";

/** Reads what sysctl.d(5) says that files set at the next start. */
export function settingFilesReader(
  files: KernelFiles,
): FactReader<ReadonlyMap<string, ConfiguredSetting>> {
  return {
    read: () => {
      const paths = new Map<string, string>();
      for (const folder of folders) {
        for (const name of files.list(folder) ?? []) {
          if (name.endsWith(".conf") && !paths.has(name)) paths.set(name, `${folder}/${name}`);
        }
      }
      const inOrder = [...paths].sort(([a], [b]) => a < b ? -1 : 1).map(([, path]) => path);
      const settings = new Map<string, ConfiguredSetting>();
      for (const file of [...inOrder, lastFile]) {
        for (const [name, value] of settingsOf(files.read(file) ?? "")) {
          settings.set(name, { value, file });
        }
      }
      return known(settings);
    },
  };
}

/** `net.ipv4.ip_forward = 1`, `-net/ipv4/ip_forward=1`. Patterns such as `net.ipv4.conf.*.x` count for `all`. */
function settingsOf(text: string): readonly (readonly [name: string, value: string])[] {
  return [...text.matchAll(/^\s*-?\s*([^#;=\s][^=\s]*)\s*=\s*(.*?)\s*$/gm)].map(
    ([, key, value]) => {
      const isSlashed = key.indexOf("/") >= 0 &&
        (key.indexOf(".") < 0 || key.indexOf("/") < key.indexOf("."));
      const name = isSlashed ? key : key.replace(/[./]/g, (sign) => sign === "." ? "/" : ".");
      return [name.replaceAll("/*/", "/all/"), value] as const;
    },
  );
}
