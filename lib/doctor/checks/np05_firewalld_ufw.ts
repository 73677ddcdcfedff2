import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

const range = "30000-32767";

/** Whether a service of the distribution manages the packet filter. */
export const firewallService = check({
  id: "NP05",
  group: "nodeports",
  title: "firewalld-ufw",
  why: "They write their rules anew at each reload, and know nothing of NodePorts.",
  looks: "Looks for the process of firewalld, and for ENABLED=yes in ufw's configuration.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  results: ["pass", "warn"],
  needs: ["processes", "hostFiles"],
  judge: ({ facts: { hostFiles = [], processes } }) => {
    const hasFirewalld = (processes?.here ?? []).some(({ argv }) =>
      argv.slice(0, 3).some((word) => /(^|\/)firewalld$/.test(word))
    );
    const hasUfw = hostFiles.some(({ path, text }) =>
      path.endsWith("/ufw.conf") && /^\s*ENABLED=yes\s*$/m.test(text)
    );
    const found = [
      ...(hasFirewalld
        ? [problem("warn", "firewalld", {
          evidence: ["firewalld is active"],
          advice: [
            `firewall-cmd --permanent --add-port=${range}/tcp --add-port=${range}/udp`,
            "firewall-cmd --permanent --add-port=10256/tcp",
            "firewall-cmd --reload",
          ],
        })]
        : []),
      ...(hasUfw
        ? [problem("warn", "ufw", {
          evidence: ["ufw is active"],
          advice: ["ufw allow 30000:32767/tcp", "ufw allow 30000:32767/udp", "ufw allow 10256/tcp"],
        })]
        : []),
    ];
    return found.length > 0 ? found : [fine("firewalld, ufw", "Neither is active")];
  },
});
