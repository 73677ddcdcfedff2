import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";

/** Those that hold with a file too; all others are passed over. */
const hold = new Set([
  ..."cleanup config help hostname-override init-only master v version vmodule".split(" "),
  ..."write-config-to write-config-version logging-format log-flush-frequency".split(" "),
  ..."log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size".split(" "),
  ..."log-text-split-stream manifests once dry-run namespace-opt-out".split(" "),
  ..."namespace-opt-out-delay iptables-backend windows-service".split(" "),
]);

/** Whether flags of the proxy that runs have no effect. */
export const flagsWithConfig = check({
  id: "CFG03",
  group: "config",
  title: "flags-with-config",
  why: "With --config most flags are passed over: what they say is not how the proxy works.",
  looks: "Reads the command line of the proxy that runs.",
  links: [
    "https://kubernetes.io/docs/reference/command-line-tools-reference/kube-proxy/",
  ],
  results: ["pass", "warn"],
  needs: ["processes"],
  judge: ({ facts: { processes } }) => {
    const proxies = processes?.proxies ?? [];
    const passedOver = proxies.flatMap(({ argv }) => {
      const flags = argv.flatMap((word) => /^--?([A-Za-z][\w-]*)/.exec(word)?.[1] ?? [])
        .map((name) => name.replaceAll("_", "-"));
      return flags.includes("config") ? flags.filter((name) => !hold.has(name)) : [];
    });
    const names = [...new Set(passedOver)].sort();
    if (names.length === 0) {
      return [fine("flags", proxies.length === 0 ? "No proxy runs here" : "All have an effect")];
    }
    return [problem("warn", "flags", {
      evidence: few(names.map((name) => `--${name} has no effect beside --config`)),
      advice: ["Write them into the configuration, and take them off the command line."],
    })];
  },
});
