/** The table of fates on the kernel of a guest, iptables mode by the old engine. */
import { testFates } from "./test_fates.ts";

testFates({ kind: "iptables", backend: "legacy" });
