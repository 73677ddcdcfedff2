/** `docs/doctor.md`, made of the list of checks, of what tests have shown of them, and of the differences between modes. */
import { type CheckGroup, checkGroups } from "../../../lib/doctor/check.ts";
import { checks } from "../../../lib/doctor/checks.ts";
import { differences } from "../../../lib/doctor/differences.ts";
import { placesOf } from "./showings.ts";

const groupTitles: Readonly<Record<CheckGroup, string>> = {
  kernel: "Kernel",
  ipvs: "IPVS state",
  nodeports: "NodePorts and firewall",
  software: "Other software",
  config: "Config",
  cluster: "Cluster",
  rehearsal: "Rehearsal",
};

const head = `# doctor

This page is generated from the list of checks. \`--explain ID\` says the same of one check.

The command \`doctor\` answers one question about the node it runs on: can it move to nftables mode, what will be different, and what has to
be done first. It changes nothing. Copy the program onto a node and run it as root:

\`\`\`
kube-proxy doctor --config config.yaml
\`\`\`

- The mode that the node comes from is found: by the proxy that runs, else by \`--config\`, else by what was left; \`--from\` says otherwise.
- \`--to-proxy upstream\` judges the move to stock kube-proxy 1.37 in place of this program.
- Without an apiserver: \`--no-cluster\`, or \`--manifests PATH\` for Services, EndpointSlices and the Node from files.
- \`--no-probe\` tries nothing in the kernel, so that it loads no module. What a probe made the kernel load is unloaded again, and named.
- \`--only\` and \`--skip\` take ids; \`-o json\` is for programs.

## On a node that you can reach by kubectl alone
A namespace for the rehearsal takes CAP_SYS_ADMIN, which the profile \`sysadmin\` has; the node's files are below \`/host\`:

\`\`\`
kubectl debug node/NODE -it --profile=sysadmin --image=IMAGE-WITH-KUBE-PROXY -- kube-proxy doctor --host-root /host
\`\`\`

The image is any that has this program. The pod asks the apiserver by its own service account, which has to be allowed to list Services, EndpointSlices and Nodes, as
\`deploy/rbac.yaml\` has it: without that the answer is \`cannot tell\`. \`--kubeconfig\` names another identity, \`--config\` the configuration that is rehearsed (the defaults
without it), \`--node\` the Node where the host has another name.

## All nodes at once
Keep the JSON of each node in a file, and fold them:

\`\`\`
jq -s 'group_by(.verdict.canMove) | map({canMove: .[0].verdict.canMove, nodes: map(.node), because: (map(.verdict.because) | add | unique)})' *.json
\`\`\`

## The answer
| text | JSON \`canMove\` | exit code |
|---|---|---|
| \`yes\` | true | 0 |
| \`yes, after N changes\` | true | 1: something failed |
| \`no, because …\` | false: what failed has no fix on this node | 1 |
| \`cannot tell, because …\` | null | 2; 1 where something failed as well |

Where none of the chosen checks passed, warned or failed, the exit code is 2 with any text.

\`, not rehearsed\` behind it says that the rules were not tried: \`--no-cluster\` or \`--no-probe\` was given, or \`DRY01\` was not among the checks. \`--fail-on warn\` exits with 1 for a warning too.
A check \`pass\`es, is a \`warn\` or a \`fail\`, is a \`skip\` where what it needs is not there, and is \`unknown\` where it could not be told. The last
two are never taken for a pass.

`;

/** The whole page. */
export function doctorPage(): string {
  return [
    head,
    "## What differs between the modes\n",
    "| what | iptables | ipvs | nftables | looked for by |\n|---|---|---|---|---|\n",
    ...differences.map((each) =>
      row(each.topic, each.iptables, each.ipvs, each.nftables, each.checks.join(", "))
    ),
    "\n## The checks\n",
    "Unit tests cover every result that a check `gives`. In parentheses stands where a test has seen it for real as well: on a kernel, in a namespace or in a " +
    "virtual machine (VM), or beside a real apiserver.\n",
    ...checkGroups.flatMap(groupLines),
  ].join("");
}

function groupLines(group: CheckGroup): readonly string[] {
  const own = checks.filter((check) => check.group === group);
  return [
    `\n### ${groupTitles[group]}\n`,
    "| id | name | gives | why |\n|---|---|---|---|\n",
    ...own.map(({ id, results, title, why }) =>
      row(id, title, results.map((result) => shown(id, result)).join(", "), why)
    ),
  ];
}

/** `warn (namespace, VM)`. */
function shown(id: string, result: "pass" | "warn" | "fail"): string {
  const places = placesOf(id, result);
  return places.length === 0 ? result : `${result} (${places.join(", ")})`;
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
}
