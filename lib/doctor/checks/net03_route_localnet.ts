import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine, problem } from "../judging/findings.ts";

const setting = "net.ipv4.conf.all.route_localnet";

/** Whether packets for 127.0.0.0/8 may come in from the network. */
export const routeLocalnet = check({
  id: "NET03",
  group: "kernel",
  title: "route-localnet",
  why:
    "Iptables mode sets it to 1, and stock kube-proxy never sets it back; without that mode's rules neighbours of " +
    "this node can reach what listens on 127.0.0.1 alone.",
  looks: `Reads ${setting}.`,
  links: ["https://github.com/kubernetes/kubernetes/issues/90259"],
  results: ["pass", "warn"],
  needs: ["settings"],
  wants: ["settingFiles"],
  judge: ({ facts: { settings }, tried: { settingFiles } }) => {
    if (settings?.get(Setting.routeLocalnet) !== "1") return [fine(setting)];
    const file = settingFiles.kind === "value"
      ? settingFiles.value.get(Setting.routeLocalnet)?.file
      : undefined;
    return [problem("warn", setting, {
      evidence: ["It is 1", ...(file === undefined ? [] : [`${file} sets it`])],
      advice: [`sysctl -w ${setting}=0`],
    })];
  },
});
