/** The table of fates on the kernel of a guest, ipvs mode with its rules in iptables' nft backend. */
import { testFates } from "./test_fates.ts";

testFates({ kind: "ipvs", backend: "nft" });
