import { check } from "../check.ts";
import { few, fine } from "../judging/findings.ts";
import { kubePrefix } from "../judging/kube_names.ts";

/** As many members as a proxy in ipvs mode gives a set. */
const LIMIT = 65_536;
const NEAR = 0.8;

/** How full the sets of ipvs mode are. */
export const ipsetRoom = check({
  id: "IPV08",
  group: "ipvs",
  title: "ipset-room",
  why:
    "In ipvs mode no set holds more than 65536 addresses and ports; nftables mode has no such limit.",
  looks: "Counts the members of all sets KUBE-*.",
  links: ["https://github.com/kubernetes/kubernetes/issues/129389"],
  results: ["pass"],
  needs: ["ipsets"],
  judge: ({ facts: { ipsets } }) => {
    if (!ipsets) return [fine("ipset", "It is not loaded")];
    const full = ipsets.filter(({ members, name }) =>
      name.startsWith(kubePrefix) && members > LIMIT * NEAR
    );
    if (full.length === 0) return [fine("ipset", "No set is near its limit")];
    return [fine(
      "ipset",
      "The limit goes away",
      ...few(full.map(({ members, name }) => `${name} has ${members} of ${LIMIT} members`)),
    )];
  },
});
