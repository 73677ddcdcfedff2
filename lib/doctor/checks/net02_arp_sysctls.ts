import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine } from "../judging/findings.ts";

/** Whether strict ARP was left behind. */
export const arpSysctls = check({
  id: "NET02",
  group: "kernel",
  title: "arp-sysctls",
  why:
    "The proxy in ipvs mode with strictARP sets two settings of ARP that stock kube-proxy never sets back.",
  looks: "Reads arp_ignore and arp_announce, and the files of sysctl.d(5).",
  links: ["https://metallb.io/installation/"],
  results: ["pass"],
  needs: ["settings", "settingFiles"],
  judge: ({ facts: { settingFiles, settings } }) => {
    const left = [[Setting.arpIgnore, "1"], [Setting.arpAnnounce, "2"]].filter(([name, value]) =>
      settings?.get(name) === value && !settingFiles?.has(name)
    ).map(([name, value]) => `${name.replaceAll("/", ".")} is ${value}`);
    if (left.length === 0) return [fine("ARP")];
    const note = "Left by strictARP, as it seems: set them back to 0 where nothing else needs them";
    return [fine("ARP", ...left, note)];
  },
});
