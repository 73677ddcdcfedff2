/** Files of the host in which other software names addresses, ports and chains. */
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { FactReader } from "../fact.ts";
import { known, unknown } from "./known.ts";
import type { CniFile, HostFile } from "./node_values.ts";

const cniFolder = "/etc/cni/net.d";

/** Reads the networks of container runtimes. One that is no JSON makes all unknown: it may be the one. */
export function cniReader(files: KernelFiles): FactReader<readonly CniFile[]> {
  return {
    read: () => {
      const found: CniFile[] = [];
      for (const name of files.list(cniFolder) ?? []) {
        if (!/\.(conf|conflist|json)$/.test(name)) continue;
        const path = `${cniFolder}/${name}`;
        const plugins = pluginsOf(files.read(path) ?? "{}");
        if (!plugins) return unknown(`${path} is no network of a container runtime`);
        found.push({ path, plugins });
      }
      return known(found);
    },
  };
}

function pluginsOf(text: string): CniFile["plugins"] | undefined {
  try {
    const network: unknown = JSON.parse(text);
    if (!isObject(network)) return undefined;
    const { plugins } = network;
    return Array.isArray(plugins) ? plugins.filter(isObject) : [network];
  } catch {
    // Whoever reads it will be told which file it is.
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A path, or a folder whose files (and those of its folders, one level deep) are read. */
const places = [
  "/etc/containerd/certs.d",
  "/etc/containers/registries.conf",
  "/etc/containers/registries.conf.d",
  "/etc/containerd/config.toml",
  "/etc/docker/daemon.json",
  "/etc/keepalived",
  "/etc/prometheus",
  "/etc/blackbox_exporter",
  "/etc/rancher/k3s/registries.yaml",
  "/etc/ufw/ufw.conf",
];
/** Larger ones are not configurations. */
const MOST_CHARACTERS = 1 << 20;

/** Reads those that are there. */
export function hostFilesReader(files: KernelFiles): FactReader<readonly HostFile[]> {
  return {
    read: () => {
      const found: HostFile[] = [];
      for (const place of places) {
        for (const path of filesAt(files, place)) {
          const text = files.read(path);
          if (text !== undefined && text.length <= MOST_CHARACTERS) found.push({ path, text });
        }
      }
      return known(found);
    },
  };
}

function filesAt(files: KernelFiles, place: string): readonly string[] {
  if (!files.isFolder(place)) return [place];
  return (files.list(place) ?? []).flatMap((name) => {
    const path = `${place}/${name}`;
    if (!files.isFolder(path)) return [path];
    return (files.list(path) ?? []).map((inner) => `${path}/${inner}`)
      .filter((inner) => !files.isFolder(inner));
  });
}
