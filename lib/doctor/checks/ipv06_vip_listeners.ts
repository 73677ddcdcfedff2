import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { ipvsInterface } from "../judging/kube_names.ts";

/** Programs that listen on the address of a Service. */
export const vipListeners = check({
  id: "IPV06",
  group: "ipvs",
  title: "vip-listeners",
  why:
    "In ipvs mode each address of a Service is one of the node, on kube-ipvs0. It goes, and what " +
    "listens on it alone is reached by nobody any more.",
  looks: "Looks for sockets that are bound to an address of kube-ipvs0.",
  links: ["https://github.com/kubernetes/kubernetes/issues/72236"],
  results: ["pass", "fail"],
  needs: ["sockets", "network"],
  judge: ({ facts: { network, sockets } }) => {
    const addresses = new Set(
      (network?.addresses ?? []).filter(({ linkName }) => linkName === ipvsInterface)
        .map(({ ip }) => ip),
    );
    const bound = (sockets ?? []).filter(({ address, isListening }) =>
      isListening && addresses.has(address)
    );
    if (bound.length === 0) return [fine("sockets", "None is bound to an address of a Service")];
    return [problem("fail", "sockets", {
      evidence: few(
        bound.map(({ address, port, protocol }) =>
          `${protocol.toUpperCase()} ${address}:${port} is bound to an address of ${ipvsInterface}`
        ),
      ),
      advice: ["Have these programs listen on an address of the node itself, or on all."],
    })];
  },
});
