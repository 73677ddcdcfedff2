/**
 * The table of fates on the kernel of a guest, in every mode. One cluster for all: to start a program and to
 * make a cluster takes an emulated machine longer than the packets of a mode.
 */
import { iptablesModes, ipvsModes, nftablesMode } from "../../scenarios/setups.ts";
import { testFates } from "./test_fates.ts";

testFates(nftablesMode, ...iptablesModes, ipvsModes[0]);
