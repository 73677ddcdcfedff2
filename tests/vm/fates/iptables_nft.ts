/** The table of fates on the kernel of a guest, iptables mode by nf_tables. */
import { testFates } from "./test_fates.ts";

testFates({ kind: "iptables", backend: "nft" });
