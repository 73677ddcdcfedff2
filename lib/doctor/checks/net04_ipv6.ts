import { ipFamilyOf } from "../../base/ip.ts";
import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether the kernel has the families that the cluster has. */
export const ipv6 = check({
  id: "NET04",
  group: "kernel",
  title: "ipv6",
  why:
    "A proxy programs the families that it finds; one that the kernel lacks is left out silently.",
  looks: "Compares whether IPv6 is there and switched on with the addresses of the Node and the " +
    "ranges of Services.",
  links: ["https://github.com/kubernetes/kubernetes/issues/131265"],
  results: ["pass", "warn"],
  needs: ["settings"],
  wants: ["objects"],
  judge: ({ facts: { settings }, tried: { objects } }) => {
    const disabled = settings?.get(Setting.disableIpv6);
    const isThere = disabled === "0";
    if (isThere) return [fine("IPv6", "It is there")];
    const known = objects.kind === "value" ? objects.value : undefined;
    const wanted = [
      ...(known?.node?.addresses ?? []).map(({ address }) => address),
      ...(known?.serviceCIDRs ?? []).flatMap(({ cidrs }) =>
        cidrs.map((each) => each.split("/")[0])
      ),
    ].filter((address) => ipFamilyOf(address) === "IPv6");
    const state = disabled === undefined ? "The kernel has no IPv6" : "IPv6 is switched off";
    if (wanted.length === 0) return [fine("IPv6", `${state}, and nothing here asks for it`)];
    return [problem("warn", "IPv6", {
      evidence: [state, `The cluster has it: ${wanted.slice(0, 3).join(", ")}`],
      advice: disabled === undefined
        ? ["Start the kernel without ipv6.disable=1, or make the cluster one of IPv4 alone."]
        : ["sysctl -w net.ipv6.conf.all.disable_ipv6=0"],
    })];
  },
});
