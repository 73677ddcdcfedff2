import { check } from "../check.ts";
import type { FactValues } from "../facts/fact_values.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { ipvsChains, ipvsInterface, isServiceChain, proxyTable } from "../judging/kube_names.ts";

/** Of a mode, what it leaves. */
type Objects = readonly [mode: FactValues["foundMode"]["mode"], objects: readonly string[]];

/** What a mode that does not run has left. */
export const leftovers = check({
  id: "CO16",
  group: "software",
  title: "leftovers",
  why: "Rules of a mode that nobody keeps up to date lead connections to endpoints that are gone.",
  looks: "Looks for chains and tables of each mode, and for kube-ipvs0, beside which mode runs.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  results: ["pass", "warn"],
  needs: ["firewall", "network", "foundMode"],
  wants: ["processes"],
  judge: ({ facts: { firewall = [], foundMode, network }, tried: { processes } }) => {
    const isRunning = foundMode?.isRunning ||
      (processes.kind === "value" && processes.value.proxies.length > 0);
    const running = isRunning ? foundMode?.mode : undefined;
    const found = objectsOf(firewall, network).filter(([mode]) => mode !== running);
    if (found.length === 0) return [fine("leftovers", "None of a mode that does not run")];
    return found.map(([mode, objects]) =>
      problem("warn", `${mode} mode`, {
        evidence: few(objects),
        advice: [
          `kube-proxy cleanup --mode ${mode} --dry-run`,
          `kube-proxy cleanup --mode ${mode}`,
        ],
      })
    );
  },
});

function objectsOf(
  firewall: FactValues["firewall"],
  network: FactValues["network"] | undefined,
): readonly Objects[] {
  const chains = firewall.flatMap((table) =>
    table.chains.map(({ name }) => ({
      name,
      place: `${table.engine === "legacy" ? "legacy " : ""}table ${table.family} ${table.name}`,
    }))
  );
  const places = (test: (name: string) => boolean) =>
    [...new Set(chains.filter(({ name }) => test(name)).map(({ place }) => place))]
      .map((place) => {
        const count = chains.filter((each) => each.place === place && test(each.name)).length;
        return `${count} ${count === 1 ? "chain" : "chains"} in ${place}`;
      });
  const links = (network?.links ?? []).filter(({ name }) => name === ipvsInterface);
  const rows: readonly Objects[] = [
    [
      "nftables",
      firewall.filter(({ name }) => name === proxyTable)
        .map(({ family, name }) => `table ${family} ${name}`),
    ],
    ["iptables", places(isServiceChain)],
    ["ipvs", [
      ...links.map(({ name }) => `interface ${name}`),
      ...places((name) => ipvsChains.includes(name)),
    ]],
  ];
  return rows.filter(([, objects]) => objects.length > 0);
}
