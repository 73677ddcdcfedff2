/** Upstream's flags of single modes, of connection tracking, and of Windows. */
import { root, type RunFlag, runFlag, within } from "./flags_define.ts";
import * as places from "./flags_places.ts";
import { fieldFlag } from "./flags_table.ts";
import * as values from "../base/flag_values.ts";

const conntrack = within(within(root, "linux"), "conntrack");
const ipvs = within(root, "ipvs");

/** Limits and timeouts of the kernel's connection tracking. */
export const conntrackFlags: readonly RunFlag[] = [
  fieldFlag(within(conntrack, "maxPerCore"), {
    name: "conntrack-max-per-core",
    type: values.int32,
    group: "Connection tracking",
    summary: "connections to track per processor core; 0 leaves the limit as it is",
  }),
  fieldFlag(within(conntrack, "min"), {
    name: "conntrack-min",
    type: values.int32,
    group: "Connection tracking",
    summary: "connections to track at least, however few cores there are",
  }),
  fieldFlag(within(conntrack, "tcpBeLiberal"), {
    name: "conntrack-tcp-be-liberal",
    type: values.boolean,
    group: "Connection tracking",
    summary: "track TCP packets outside of the window too",
  }),
  fieldFlag(within(conntrack, "tcpCloseWaitTimeoutMs"), {
    name: "conntrack-tcp-timeout-close-wait",
    type: values.duration,
    group: "Connection tracking",
    summary: "how long TCP connections in CLOSE_WAIT are kept; 0 leaves it as it is",
  }),
  fieldFlag(within(conntrack, "tcpEstablishedTimeoutMs"), {
    name: "conntrack-tcp-timeout-established",
    type: values.duration,
    group: "Connection tracking",
    summary: "how long idle TCP connections are kept; 0 leaves it as it is",
  }),
  fieldFlag(within(conntrack, "udpTimeoutMs"), {
    name: "conntrack-udp-timeout",
    type: values.duration,
    group: "Connection tracking",
    summary: "how long unanswered UDP flows are kept; 0 leaves it as it is",
  }),
  fieldFlag(within(conntrack, "udpStreamTimeoutMs"), {
    name: "conntrack-udp-timeout-stream",
    type: values.duration,
    group: "Connection tracking",
    summary: "how long answered UDP flows are kept; 0 leaves it as it is",
  }),
];

/** Settings of the iptables mode, and the periods of every mode but ipvs. */
export const iptablesFlags: readonly RunFlag[] = [
  fieldFlag(within(within(root, "iptables"), "localhostNodePorts"), {
    name: "iptables-localhost-nodeports",
    type: values.boolean,
    group: "iptables",
    summary: "let node ports answer on 127.0.0.1 too",
  }),
  fieldFlag(places.masqueradeBit, {
    name: "iptables-masquerade-bit",
    type: values.int32,
    group: "iptables",
    summary: "the bit of the packet mark that says: masquerade (0 to 31; iptables and ipvs)",
  }),
  runFlag({
    name: "iptables-min-sync-period",
    type: values.duration,
    group: "iptables",
    summary: "how long changes are gathered at least (every mode but ipvs)",
    fallback: 1_000,
    place: places.periodOfOthers("minSyncPeriodMs"),
  }),
  runFlag({
    name: "iptables-sync-period",
    type: values.duration,
    group: "iptables",
    summary: "how often to try again after a failure and to check everything (every mode but ipvs)",
    fallback: 30_000,
    place: places.periodOfOthers("syncPeriodMs"),
  }),
];

/** Settings of the ipvs mode. */
export const ipvsFlags: readonly RunFlag[] = [
  fieldFlag(within(ipvs, "excludeCIDRs"), {
    name: "ipvs-exclude-cidrs",
    type: values.stringList,
    group: "ipvs",
    summary: "ranges whose virtual servers belong to somebody else",
  }),
  runFlag({
    name: "ipvs-min-sync-period",
    type: values.duration,
    group: "ipvs",
    summary: "how long changes are gathered at least",
    fallback: 1_000,
    place: places.periodOfIpvs("minSyncPeriodMs"),
  }),
  fieldFlag(within(ipvs, "scheduler"), {
    name: "ipvs-scheduler",
    type: values.string,
    group: "ipvs",
    summary: "how a server is picked (default rr)",
    completion: {
      kind: "words",
      words: ["dh", "lblc", "lblcr", "lc", "mh", "nq", "rr", "sed", "sh", "wlc", "wrr"],
    },
  }),
  fieldFlag(within(ipvs, "strictARP"), {
    name: "ipvs-strict-arp",
    type: values.boolean,
    group: "ipvs",
    summary: "answer ARP only for addresses of the interface that is asked",
  }),
  runFlag({
    name: "ipvs-sync-period",
    type: values.duration,
    group: "ipvs",
    summary: "how often to try again after a failure and to check everything",
    fallback: 30_000,
    place: places.periodOfIpvs("syncPeriodMs"),
  }),
  fieldFlag(within(ipvs, "tcpTimeoutMs"), {
    name: "ipvs-tcp-timeout",
    type: values.duration,
    group: "ipvs",
    summary: "how long idle TCP connections are kept; 0 leaves it as it is",
  }),
  fieldFlag(within(ipvs, "tcpFinTimeoutMs"), {
    name: "ipvs-tcpfin-timeout",
    type: values.duration,
    group: "ipvs",
    summary: "how long TCP connections are kept after a FIN; 0 leaves it as it is",
  }),
  fieldFlag(within(ipvs, "udpTimeoutMs"), {
    name: "ipvs-udp-timeout",
    type: values.duration,
    group: "ipvs",
    summary: "how long UDP flows are kept; 0 leaves it as it is",
  }),
];
