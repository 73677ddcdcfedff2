import assert from "node:assert/strict";
import {
  chainsOf,
  endpointChainOf,
  isOwnChain,
  servicePortName,
} from "../../../../lib/writers/iptables/names.ts";
import { servicePortOf } from "../../../fakes/service_ports.ts";

/** Names that upstream's own proxy gave, in the specification of its behaviour. */
Deno.test("chains are named as upstream names them", () => {
  const unnamed = servicePortOf({ namespace: "ns1", name: "b-ext", portName: "" });
  assert.equal(servicePortName(unnamed), "ns1/b-ext");
  assert.deepEqual(chainsOf(unnamed), {
    cluster: "KUBE-SVC-UURRULOLSP7ULLCD",
    local: "KUBE-SVL-UURRULOLSP7ULLCD",
    external: "KUBE-EXT-UURRULOLSP7ULLCD",
    firewall: "KUBE-FW-UURRULOLSP7ULLCD",
  });
  const named = servicePortOf({ namespace: "ns1", name: "svc1", portName: "p80" });
  assert.equal(chainsOf(named).cluster, "KUBE-SVC-XPGD46QRK7WJZT7O");
  assert.equal(
    endpointChainOf(named, { ip: "10.180.0.1", port: 80, isLocal: true }),
    "KUBE-SEP-SXIVWICOYRO3J4NJ",
  );
  const six = servicePortOf({ namespace: "ns1", name: "f-six", portName: "x" });
  assert.equal(
    endpointChainOf(six, { ip: "fd00:10:244:1::2", port: 80, isLocal: false }),
    "KUBE-SEP-PE3J6YOHM2FQMC5I",
  );
});

Deno.test("isOwnChain() takes nothing by its beginning alone", () => {
  const own = ["KUBE-SVC-UURRULOLSP7ULLCD", "KUBE-FW-2345674567ABCDEF"];
  const others = [
    "KUBE-SVC-mine",
    "KUBE-SVC-UURRULOLSP7ULLC",
    "KUBE-SVC-UURRULOLSP7ULLCDX",
    "KUBE-SVC-UURRULOLSP7ULLC1",
    "KUBE-XLB-UURRULOLSP7ULLCD",
    "KUBE-SERVICES",
    "XKUBE-SVC-UURRULOLSP7ULLCD",
  ];
  assert.deepEqual([...own, ...others].filter(isOwnChain), own);
});
