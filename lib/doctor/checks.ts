/** Every check there is, in the order of the report. */
import type { Check } from "./check.ts";
import { rehearse } from "./checks/dry01_rehearse.ts";
import { decode } from "./checks/cfg01_decode.ts";
import { explicitMode } from "./checks/cfg02_explicit_mode.ts";
import { flagsWithConfig } from "./checks/cfg03_flags_with_config.ts";
import { periods } from "./checks/cfg04_periods.ts";
import { detectLocal } from "./checks/cfg05_detect_local.ts";
import { timeline } from "./checks/cfg06_timeline.ts";
import { rbac } from "./checks/cfg07_rbac.ts";
import { versionFloor } from "./checks/cfg08_version_floor.ts";
import { kubeChainUsers } from "./checks/co01_kube_chain_users.ts";
import { markCollision } from "./checks/co02_mark_collision.ts";
import { hookOrder } from "./checks/co03_hook_order.ts";
import { iptablesBackends } from "./checks/co04_iptables_backends.ts";
import { iptablesMissing } from "./checks/co05_iptables_missing.ts";
import { calico } from "./checks/co06_calico.ts";
import { flannel } from "./checks/co07_flannel.ts";
import { cilium } from "./checks/co08_cilium.ts";
import { otherServiceProxies } from "./checks/co09_other_service_proxies.ts";
import { vpcCni } from "./checks/co10_vpc_cni.ts";
import { nodeLocalDns } from "./checks/co11_node_local_dns.ts";
import { istio } from "./checks/co12_istio.ts";
import { ipvsUsers } from "./checks/co13_ipvs_users.ts";
import { dashboards } from "./checks/co14_dashboards.ts";
import { secondProxy } from "./checks/co15_second_proxy.ts";
import { leftovers } from "./checks/co16_leftovers.ts";
import { conntrackLoaded } from "./checks/ct01_conntrack_loaded.ts";
import { conntrackRoom } from "./checks/ct02_conntrack_room.ts";
import { conntrackSize } from "./checks/ct03_conntrack_size.ts";
import { tcpBeLiberal } from "./checks/ct04_tcp_be_liberal.ts";
import { foreignVirtualServers } from "./checks/ipv01_foreign_virtual_servers.ts";
import { liveConnections } from "./checks/ipv02_live_connections.ts";
import { scheduler } from "./checks/ipv03_scheduler.ts";
import { excludedCidrs } from "./checks/ipv04_excluded_cidrs.ts";
import { timeouts } from "./checks/ipv05_timeouts.ts";
import { vipListeners } from "./checks/ipv06_vip_listeners.ts";
import { vipAsSource } from "./checks/ipv07_vip_as_source.ts";
import { ipsetRoom } from "./checks/ipv08_ipset_room.ts";
import { vipPing } from "./checks/ipv09_vip_ping.ts";
import { strictArp } from "./checks/ipv10_strict_arp.ts";
import { eipIsNodeIp } from "./checks/ipv11_eip_is_node_ip.ts";
import { kernelVersion } from "./checks/krn01_kernel_version.ts";
import { nfTables } from "./checks/krn02_nf_tables.ts";
import { nftExpressions } from "./checks/krn03_nft_expressions.ts";
import { nftHostVersion } from "./checks/krn04_nft_host_version.ts";
import { nftForeignRules } from "./checks/krn05_nft_foreign_rules.ts";
import { nftJson } from "./checks/krn06_nft_json.ts";
import { lockups } from "./checks/krn07_lockups.ts";
import { ipForwardOwner } from "./checks/net01_ip_forward_owner.ts";
import { arpSysctls } from "./checks/net02_arp_sysctls.ts";
import { routeLocalnet } from "./checks/net03_route_localnet.ts";
import { ipv6 } from "./checks/net04_ipv6.ts";
import { rights } from "./checks/net05_rights.ts";
import { nodePortAddresses } from "./checks/np01_addresses.ts";
import { localhost } from "./checks/np02_localhost.ts";
import { inputPolicy } from "./checks/np03_input_policy.ts";
import { healthCheckNodePort } from "./checks/np04_hc_nodeport.ts";
import { firewallService } from "./checks/np05_firewalld_ufw.ts";
import { bypassIntent } from "./checks/np06_bypass_intent.ts";
import { size } from "./checks/scl01_size.ts";
import { names } from "./checks/scl02_names.ts";

export const checks: readonly Check[] = [
  kernelVersion,
  nfTables,
  nftExpressions,
  nftHostVersion,
  nftForeignRules,
  nftJson,
  lockups,
  conntrackLoaded,
  conntrackRoom,
  conntrackSize,
  tcpBeLiberal,
  ipForwardOwner,
  arpSysctls,
  routeLocalnet,
  ipv6,
  rights,
  foreignVirtualServers,
  liveConnections,
  scheduler,
  excludedCidrs,
  timeouts,
  vipListeners,
  vipAsSource,
  ipsetRoom,
  vipPing,
  strictArp,
  eipIsNodeIp,
  nodePortAddresses,
  localhost,
  inputPolicy,
  healthCheckNodePort,
  firewallService,
  bypassIntent,
  kubeChainUsers,
  markCollision,
  hookOrder,
  iptablesBackends,
  iptablesMissing,
  calico,
  flannel,
  cilium,
  otherServiceProxies,
  vpcCni,
  nodeLocalDns,
  istio,
  ipvsUsers,
  dashboards,
  secondProxy,
  leftovers,
  decode,
  explicitMode,
  flagsWithConfig,
  periods,
  detectLocal,
  timeline,
  rbac,
  versionFloor,
  size,
  names,
  rehearse,
];
