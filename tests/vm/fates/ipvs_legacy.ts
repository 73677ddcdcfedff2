/** The table of fates on the kernel of a guest, ipvs mode with its rules in iptables' old engine. */
import { testFates } from "./test_fates.ts";

testFates({ kind: "ipvs", backend: "legacy" });
