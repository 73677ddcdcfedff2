import type { ProxyRecord } from "../../lib/record/proxy_record.ts";

/** What iptables mode notes on the machine that the fakes of the kernel are. */
export const exampleRecord: ProxyRecord = {
  mode: "iptables",
  backend: "nft",
  version: "v0.1.0",
  bootId: "11111111-2222-3333-4444-555555555555",
  namespace: { inode: 4026531840, cookie: "1" },
  process: { pid: 4321, startedAt: "2026-01-31T12:00:00.000Z" },
  sysctls: [{ setting: "net/ipv4/conf/all/route_localnet", before: "0", after: "1" }],
};
