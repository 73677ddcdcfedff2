/** The table of fates on the kernel of a guest, nftables mode. */
import { testFates } from "./test_fates.ts";

testFates({ kind: "nftables" });
