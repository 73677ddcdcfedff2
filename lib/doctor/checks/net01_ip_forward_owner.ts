import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine, problem } from "../judging/findings.ts";

const setting = "net.ipv4.ip_forward";

/** Whether somebody besides the old proxy makes this node forward. */
export const ipForwardOwner = check({
  id: "NET01",
  group: "kernel",
  title: "ip-forward-owner",
  why:
    "The proxy in ipvs mode sets it to 1 at each start; nftables mode does not: after the next " +
    "boot it may be 0.",
  looks: `Reads ${setting}, and the files of sysctl.d(5) that set it.`,
  links: ["https://man7.org/linux/man-pages/man5/sysctl.d.5.html"],
  where: { from: ["ipvs"] },
  results: ["pass", "warn"],
  needs: ["settings", "settingFiles"],
  judge: ({ facts: { settingFiles, settings } }) => {
    const now = settings?.get(Setting.ipForward);
    const configured = settingFiles?.get(Setting.ipForward);
    if (configured?.value === "1") return [fine(setting, `${configured.file} sets it`)];
    const told = configured
      ? `${configured.file} sets it to ${configured.value}`
      : "No file sets it";
    return [problem("warn", setting, {
      evidence: [`It is ${now ?? "not there"}`, told],
      advice: [
        `echo "${setting} = 1" > /etc/sysctl.d/90-kubernetes-forwarding.conf`,
        "sysctl -p /etc/sysctl.d/90-kubernetes-forwarding.conf",
      ],
    })];
  },
});
