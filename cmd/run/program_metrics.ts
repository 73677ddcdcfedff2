/** Metrics about the program as a whole: what it is, which gates it has, what it uses. */
import type { MetricsRegistry, Sample } from "../../lib/base/metrics.ts";
import { programBuildDate, programCommit } from "../../lib/base/version.ts";
import type { FeatureGates } from "../../lib/config/feature_gates.ts";
import type { ProcessUsage, Self } from "../../lib/kernel/self.ts";

export interface ProgramFacts {
  readonly gates: FeatureGates;
  readonly self: Self;
  /** The Kubernetes version that the program tells, such as `v1.37.0`. */
  readonly reportedVersion: string;
  readonly platform: string;
}

/** Registers them; called once. */
export function registerProgramMetrics(registry: MetricsRegistry, facts: ProgramFacts): void {
  const gates = registry.gauge({
    name: "kubernetes_feature_enabled",
    help: "This metric records the data about the stage and enablement of a k8s feature.",
    labels: ["name", "stage"],
    stability: "BETA",
  });
  for (const { name, stage, enabled } of facts.gates.all()) {
    gates.set(enabled ? 1 : 0, { name, stage });
  }
  registerBuildInfo(registry, facts);
  registerTotals(registry);
  const usage = registry.perPage(() => facts.self.usage());
  for (const { name, help, type, read } of processMetrics) {
    const values = () => [{ value: read(usage()) }];
    registry.scraped({ name, help, type, stability: "none", read: values });
  }
}

function registerBuildInfo(registry: MetricsRegistry, facts: ProgramFacts): void {
  const [major = "", minor = ""] = facts.reportedVersion.replace(/^v/, "").split(".");
  const labels = {
    major,
    minor,
    git_version: facts.reportedVersion,
    git_commit: programCommit,
    git_tree_state: "",
    build_date: programBuildDate,
    // There is no Go in this program: the runtime that there is stands in its place.
    go_version: `deno${Deno.version.deno}`,
    compiler: "v8",
    platform: facts.platform,
  };
  registry.gauge({
    name: "kubernetes_build_info",
    help:
      "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    labels: Object.keys(labels),
    stability: "BETA",
  }).set(1, labels);
}

/** How many metrics there are; none of them is ever hidden or switched off. */
function registerTotals(registry: MetricsRegistry): void {
  const total = (which: string, help: string, read: () => readonly Sample[]) =>
    registry.scraped({
      name: `${which}_metrics_total`,
      help: `The count of ${which} metrics${help}.`,
      type: "counter",
      stability: "BETA",
      labels: which === "registered" ? ["stability_level", "deprecated_version"] : [],
      read,
    });
  total("disabled", "", () => [{ value: 0 }]);
  total("hidden", "", () => [{ value: 0 }]);
  total(
    "registered",
    " broken by stability level and deprecation version",
    () =>
      [...registry.stabilities].map(([level, value]) => ({
        value,
        labels: { stability_level: level, deprecated_version: "" },
      })),
  );
}

interface ProcessMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly read: (usage: ProcessUsage) => number;
}

const processMetrics: readonly ProcessMetric[] = [
  {
    name: "process_cpu_seconds_total",
    help: "Total user and system CPU time spent in seconds.",
    type: "counter",
    read: ({ cpuSeconds }) => cpuSeconds,
  },
  {
    name: "process_max_fds",
    help: "Maximum number of open file descriptors.",
    type: "gauge",
    read: ({ maxFileDescriptors }) => maxFileDescriptors,
  },
  {
    name: "process_network_receive_bytes_total",
    help: "Number of bytes received by the process over the network.",
    type: "counter",
    read: ({ receivedBytes }) => receivedBytes,
  },
  {
    name: "process_network_transmit_bytes_total",
    help: "Number of bytes sent by the process over the network.",
    type: "counter",
    read: ({ sentBytes }) => sentBytes,
  },
  {
    name: "process_open_fds",
    help: "Number of open file descriptors.",
    type: "gauge",
    read: ({ openFileDescriptors }) => openFileDescriptors,
  },
  {
    name: "process_resident_memory_bytes",
    help: "Resident memory size in bytes.",
    type: "gauge",
    read: ({ residentBytes }) => residentBytes,
  },
  {
    name: "process_start_time_seconds",
    help: "Start time of the process since unix epoch in seconds.",
    type: "gauge",
    read: ({ startTimeSeconds }) => startTimeSeconds,
  },
  {
    name: "process_virtual_memory_bytes",
    help: "Virtual memory size in bytes.",
    type: "gauge",
    read: ({ virtualBytes }) => virtualBytes,
  },
  {
    name: "process_virtual_memory_max_bytes",
    help: "Maximum amount of virtual memory available in bytes.",
    type: "gauge",
    // As client libraries show the absence of a limit: the largest number that the kernel has for it.
    read: ({ maxVirtualBytes }) => maxVirtualBytes === Infinity ? 2 ** 64 : maxVirtualBytes,
  },
];
