/** The table of fates on the kernel of a guest, nftables mode. */
import { testFates } from "./one_setup.ts";

testFates({ kind: "nftables" });
