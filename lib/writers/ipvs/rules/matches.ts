/** The tests that rules of this mode are made of. */
import type { IpFamily } from "../../../base/ip_family.ts";
import type { XtMatch, XtProtocol, XtRule, XtSide } from "../../../kernel/xtables/rules.ts";
import { comment } from "../../kube_chains/rules.ts";
import { setComment, setOf, type SetRole } from "../names.ts";

/** Whether a packet is in the set, with the side from which each part of a member is taken. */
export function inSet(role: SetRole, sides: readonly XtSide[], family: IpFamily): XtMatch {
  return { kind: "set", name: setOf(role, family).name, sides };
}

/** The same with the words that explain the set before it. */
export function explained(
  role: Exclude<SetRole, "boundAddress">,
  sides: readonly XtSide[],
  family: IpFamily,
): readonly XtMatch[] {
  return [comment(setComment(role)), inSet(role, sides, family)];
}

/** Drops what this machine sends to a virtual server with the server's own address as its source. */
export function fromVirtualServer({ family, ip, port, protocol }: {
  readonly family: IpFamily;
  readonly ip: string;
  readonly port: number;
  readonly protocol: XtProtocol;
}): XtRule {
  return {
    source: { cidr: `${ip}/${family === "IPv4" ? 32 : 128}` },
    matches: [{ kind: "ipvs", address: ip, protocol, port }],
    target: { kind: "drop" },
  };
}
