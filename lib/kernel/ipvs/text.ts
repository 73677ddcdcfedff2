/** Servers and destinations as `ipvsadm -Sn` prints them: what people know, and what a dry run shows. */
import { joinHostPort } from "../../base/ip.ts";
import {
  type IpvsDestination,
  IpvsFlag,
  type IpvsForwarding,
  type IpvsFrontend,
  type IpvsProtocol,
  type IpvsServer,
} from "./ipvs.ts";

const options: Readonly<Record<IpvsProtocol, string>> = {
  tcp: "-t",
  udp: "-u",
  sctp: "--sctp-service",
};

const forwardings: Readonly<Record<IpvsForwarding, string>> = {
  masquerade: "-m",
  tunnel: "-i",
  route: "-g",
  // ipvsadm shows these two so, and has no option that would make them.
  local: "-l",
  bypass: "-b",
};

/** `-t 10.0.0.1:80`: equal exactly for the same server. */
export function frontendText({ address, port, protocol }: IpvsFrontend): string {
  return `${options[protocol]} ${joinHostPort(address, port)}`;
}

/** `-A -t 10.0.0.1:80 -s rr -p 10800`: equal exactly for servers that say the same. For tests: beside the tool. */
export function serverText(server: IpvsServer): string {
  const { flags, persistencePrefix, persistenceSeconds, scheduler } = server;
  const flagNames = schedulerFlagNames(server);
  return `-A ${frontendText(server)} -s ${scheduler}` +
    (persistenceSeconds === undefined ? "" : ` -p ${persistenceSeconds}`) +
    (persistencePrefix === undefined ? "" : ` -M ${maskText(server, persistencePrefix)}`) +
    ((flags & IpvsFlag.onePacket) === 0 ? "" : " -o") +
    (flagNames.length === 0 ? "" : ` -b ${flagNames.join(",")}`);
}

/** `-a -t 10.0.0.1:80 -r 10.128.0.5:8080 -m -w 1`: equal exactly for those that say the same. For tests: beside the tool. */
export function destinationText(server: IpvsFrontend, destination: IpvsDestination): string {
  const { address, forwarding, port, weight } = destination;
  return `-a ${frontendText(server)} -r ${joinHostPort(address, port)} ` +
    `${forwardings[forwarding]} -w ${weight}`;
}

/** ipvsadm has names for the bits of the two schedulers that use them. */
function schedulerFlagNames({ flags, scheduler }: IpvsServer): readonly string[] {
  const isKnown = scheduler === "sh" || scheduler === "mh";
  const names = [
    [IpvsFlag.scheduler1, isKnown ? `${scheduler}-fallback` : "flag-1"],
    [IpvsFlag.scheduler2, isKnown ? `${scheduler}-port` : "flag-2"],
    [IpvsFlag.scheduler3, "flag-3"],
  ] as const;
  return names.flatMap(([bit, name]) => (flags & bit) === 0 ? [] : [name]);
}

function maskText({ family }: IpvsFrontend, prefix: number): string {
  if (family === "IPv6") return String(prefix);
  return [0, 8, 16, 24].map((at) => {
    const bits = Math.min(8, Math.max(0, prefix - at));
    return (0xff00 >> bits) & 0xff;
  }).join(".");
}
