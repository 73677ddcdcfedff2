/** What `run --manifests` says of input that is wrong, and what it leaves in the kernel then. */
import assert from "node:assert/strict";
import { ourProgram } from "../controlplane/rig/proxy_process.ts";
import { type CommandResult, tryCommand } from "./rig/command.ts";
import { type OwnNamespace, withOwnNamespace } from "./rig/own_namespace.ts";

const service = (name: string, options: { ip?: string; port?: string; created?: string } = {}) =>
  `apiVersion: v1
kind: Service
metadata:
  creationTimestamp: "${options.created ?? "2026-01-01T00:00:00Z"}"
  name: ${name}
  namespace: shop
spec:
  clusterIP: ${options.ip ?? "172.30.0.1"}
  ports:
  - port: ${options.port ?? "80"}
---
`;

const slice = (name: string, addresses: readonly string[], port = "8080") =>
  `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  labels:
    kubernetes.io/service-name: ${name}
  name: ${name}-a
  namespace: shop
addressType: IPv4
ports:
- port: ${port}
endpoints:
${addresses.map((address) => `- addresses:\n  - ${address}\n`).join("")}---
`;

interface Row {
  readonly name: string;
  /** Names and texts of the files of the directory. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** What the shell runs; "$@" is the program with `run`, and the directory is the working one. */
  readonly shell: string;
  readonly stdin?: string;
  readonly exitCode: number;
  readonly says: readonly RegExp[];
  /** Each of these is said so often. */
  readonly times?: number;
  /** Elements that the kernel holds afterwards. */
  readonly holds?: readonly string[];
  readonly lacks?: readonly string[];
}

const once = '"$@" --manifests . --once';
const rows: readonly Row[] = [
  {
    name: "a broken file among good ones, with --once",
    files: {
      "a.yaml": service("web"),
      "b.yaml": service("api").replace("- port: 80", "- {port: 8"),
    },
    shell: once,
    exitCode: 1,
    says: [
      /Cannot use manifest \\"\.\/b\.yaml:11:1\\": flow map in block collection/,
      /Cannot use the manifests \\"\.\\": 1 of 2 files cannot be used, as told above/,
    ],
    lacks: ["172.30.0.1"],
  },
  {
    name: "a broken file alone",
    files: { "a.yaml": service("web", { port: "0" }) },
    shell: '"$@" --manifests ./a.yaml',
    exitCode: 1,
    says: [
      /\\"\.\/a\.yaml:10:11\\": Service shop\/web: spec\.ports\[0\]\.port must be between 1 and 65535/,
    ],
  },
  {
    name: "a file that is no text",
    files: { "a.yaml": new Uint8Array([0x61, 0x3a, 0x0a, 0x7f, 0x45, 0xff, 0xfe]) },
    shell: once,
    exitCode: 1,
    says: [/Cannot use manifest \\"\.\/a\.yaml:2:1\\": this is no text: it holds the byte 0x7f/],
  },
  {
    name: "a file that must not be read",
    files: { "a.yaml": service("web") },
    shell:
      'chmod 0 a.yaml && exec setpriv --reuid=65534 --clear-groups --inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin "$@" --manifests . --once',
    exitCode: 1,
    says: [/Cannot use manifest \\"\.\/a\.yaml\\": permission denied/],
  },
  {
    name: "a path that is not there",
    shell: '"$@" --manifests ./missing --once',
    exitCode: 1,
    says: [/Cannot read \\"\.\/missing\\": no such file or directory/],
  },
  {
    name: "an empty directory",
    shell: once,
    exitCode: 0,
    says: [/There is no \.yaml, \.yml or \.json file in the directory/, /servicePorts=0/],
  },
  {
    name: "an empty file among good ones, with --once",
    files: { "a.yaml": service("web"), "b.yaml": "\n \n" },
    shell: once,
    exitCode: 1,
    says: [
      /Cannot use manifest \\"\.\/b\.yaml\\": it is empty; to have nothing from it, remove it/,
      /1 of 2 files cannot be used, as told above/,
    ],
    lacks: ["172.30.0.1"],
  },
  {
    name: "an empty file alone",
    files: { "a.yaml": "" },
    shell: '"$@" --manifests ./a.yaml',
    exitCode: 1,
    says: [/\.\/a\.yaml\\": it is empty; /],
  },
  {
    name: "an empty list",
    files: { "a.yaml": "{apiVersion: v1, kind: List, items: []}" },
    shell: once,
    exitCode: 0,
    says: [/servicePorts=0/],
  },
  {
    name: "a link to nothing",
    shell: `ln -s nowhere a.yaml && ${once}`,
    files: { "b.yaml": service("web") },
    exitCode: 1,
    says: [
      /Cannot use manifest \\"\.\/a\.yaml\\": it is a link to \\"nowhere\\", which is not there/,
    ],
    lacks: ["172.30.0.1"],
  },
  {
    name: "a closed standard input",
    shell: '"$@" --manifests - --once <&-',
    exitCode: 1,
    says: [/Cannot use standard input as manifests: it is empty/],
  },
  {
    name: "an empty standard input",
    shell: '"$@" --manifests - --once',
    exitCode: 1,
    says: [/Cannot use standard input as manifests: it is empty/],
  },
  {
    name: "a Service on standard input",
    shell: '"$@" --manifests - --once',
    stdin: service("web"),
    exitCode: 0,
    says: [/servicePorts=1/],
    holds: ["172.30.0.1 . tcp . 80"],
  },
  {
    name: "kinds that no proxy reads",
    files: {
      "a.yaml": service("web"),
      "b.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n",
      "c.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n",
    },
    shell: once,
    exitCode: 0,
    says: [/Ignored 1 object of kind \\"Secret\\" in \\"\.\/b\.yaml\\": no proxy reads that kind/],
    times: 1,
    holds: ["172.30.0.1 . tcp . 80"],
  },
  {
    name: "Services as a chart renders them",
    files: {
      "a.yaml": service("web") + service("api").replace("  clusterIP: 172.30.0.1\n", "") +
        service("db").replace("  clusterIP: 172.30.0.1\n", ""),
    },
    shell: once,
    exitCode: 0,
    says: [
      /Left out 2 Services: 2 without spec\.clusterIP, which an apiserver would give and a file has to hold \(shop\/api, shop\/db\)/,
    ],
    times: 1,
    holds: ["172.30.0.1 . tcp . 80"],
  },
  {
    name: "one object in two files",
    files: { "a.yaml": service("web"), "b.yaml": service("web", { ip: "172.30.0.2" }) },
    shell: once,
    exitCode: 0,
    says: [/Service shop\/web is in \\"\.\/a\.yaml\\" and in \\"\.\/b\.yaml\\": the latter counts/],
    times: 1,
    holds: ["172.30.0.2 . tcp . 80"],
    lacks: ["172.30.0.1 . tcp . 80"],
  },
  {
    name: "two Services with one address and port: the older one wins",
    files: {
      "a.yaml": service("young", { created: "2026-02-02T00:00:00Z" }) +
        slice("young", ["10.128.0.7"]) +
        service("old") + slice("old", ["10.128.0.8"]),
    },
    shell: once,
    exitCode: 0,
    says: [/shop\/young.*shop\/old|shop\/old.*shop\/young/],
    times: 1,
    holds: ["10.128.0.8 . 8080"],
    lacks: ["10.128.0.7 . 8080"],
  },
  {
    name: "two Services of one age with one address and port: the first by name wins",
    files: {
      "a.yaml": service("b") + slice("b", ["10.128.0.7"]) + service("a") +
        slice("a", ["10.128.0.8"]),
    },
    shell: once,
    exitCode: 0,
    says: [/shop\/b.*shop\/a|shop\/a.*shop\/b/],
    times: 1,
    holds: ["10.128.0.8 . 8080"],
    lacks: ["10.128.0.7 . 8080"],
  },
  {
    name: "names of 63 characters",
    files: {
      "a.yaml": service("w".repeat(63)).replace("shop", "s".repeat(63))
        .replace("- port: 80", `- name: ${"p".repeat(15)}\n    port: 80`)
        .replace("spec:", "spec:\n  sessionAffinity: ClientIP") +
        slice("w".repeat(61), ["10.128.0.7"]).replace(
          "w".repeat(61) + "\n  name",
          "w".repeat(63) + "\n  name",
        )
          .replace("namespace: shop", `namespace: ${"s".repeat(63)}`)
          .replace("- port", `- name: ${"p".repeat(15)}\n  port`),
    },
    shell: once,
    exitCode: 0,
    says: [/servicePorts=1 endpoints=1/],
    holds: ["172.30.0.1 . tcp . 80"],
  },
  {
    name: "500 ports in one Service",
    files: {
      "a.yaml": service("web").replace(
        "  - port: 80\n",
        Array.from({ length: 500 }, (_, i) => `  - name: p${i}\n    port: ${1000 + i}\n`).join(""),
      ) + slice("web", ["10.128.0.7"]).replace(
        "- port: 8080\n",
        Array.from({ length: 500 }, (_, i) => `- name: p${i}\n  port: ${2000 + i}\n`).join(""),
      ),
    },
    shell: once,
    exitCode: 0,
    says: [/servicePorts=500 endpoints=500/],
    holds: ["172.30.0.1 . tcp . 1000", "172.30.0.1 . tcp . 1499", "10.128.0.7 . 2499"],
  },
  {
    name: "5,000 endpoints in one Service",
    files: {
      "a.yaml": service("web") +
        Array.from({ length: 5 }, (_, part) =>
          slice(
            "web",
            Array.from({ length: 1000 }, (_, i) => `10.129.${part * 4 + (i >> 8)}.${i & 255}`),
          ).replace("name: web-a", `name: web-${part}`)).join(""),
    },
    shell: once,
    exitCode: 0,
    says: [/servicePorts=1 endpoints=5000/],
    holds: ["172.30.0.1 . tcp . 80", "10.129.0.0 . 8080", "10.129.19.231 . 8080"],
  },
  {
    name: "an endpoint of the other family",
    files: { "a.yaml": service("web") + slice("web", ["fd00:10:128::7"]) },
    shell: once,
    exitCode: 1,
    says: [/a\.yaml:\d+:\d+\\": EndpointSlice shop\/web-a: endpoints\[0\]\.addresses\[0\]/],
  },
  {
    name: "a port of an endpoint out of range",
    files: { "a.yaml": service("web") + slice("web", ["10.128.0.7"], "65536") },
    shell: once,
    exitCode: 1,
    says: [
      /a\.yaml:21:9\\": EndpointSlice shop\/web-a: ports\[0\]\.port must be between 0 and 65535, not 65536/,
    ],
  },
  {
    name: "no CAP_NET_ADMIN",
    files: { "a.yaml": service("web") },
    shell: `exec setpriv --bounding-set=-net_admin --inh-caps=-net_admin ${once}`,
    exitCode: 1,
    says: [/Cannot program the kernel: this process lacks CAP_NET_ADMIN; run it as root, or with/],
  },
  {
    name: "nf_tables refused",
    files: { "a.yaml": service("web") },
    // Root of another user namespace has the capability, and none over this network namespace.
    shell: `exec unshare --user --map-root-user ${once}`,
    exitCode: 1,
    says: [/operation not permitted \(EPERM\); run as root or with CAP_NET_ADMIN/],
    lacks: ["172.30.0.1"],
  },
  {
    name: "--dry-run onto a full disk",
    files: { "a.yaml": service("web") },
    shell: '"$@" --manifests . --dry-run >/dev/full',
    exitCode: 1,
    says: [/Cannot write to standard output: No space left on device/],
  },
  {
    name: "a full disk for the log",
    files: { "a.yaml": service("web") },
    shell: `${once} 2>/dev/full`,
    exitCode: 0,
    says: [],
    holds: ["172.30.0.1 . tcp . 80"],
  },
];

Deno.test("run --manifests tells what is wrong with its input", async (test) => {
  for (const row of rows) {
    await test.step(row.name, () => withOwnNamespace((namespace) => check(row, namespace)));
  }
});

async function check(row: Row, namespace: OwnNamespace): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kpt-manifests-" });
  try {
    await Deno.chmod(folder, 0o755);
    for (const [name, content] of Object.entries(row.files ?? {})) {
      await Deno.writeFile(
        `${folder}/${name}`,
        typeof content === "string" ? new TextEncoder().encode(content) : content,
      );
    }
    const result = await runIn(namespace, { folder, row });
    assert.equal(result.code, row.exitCode, result.stderr);
    for (const pattern of row.says) {
      const said = result.stderr.split("\n").filter((line) => pattern.test(line));
      assert.ok(said.length > 0, `${pattern} is not in\n${result.stderr}`);
      if (row.times !== undefined) assert.equal(said.length, row.times, result.stderr);
    }
    assert.ok(!/\n\s+at |Stack|panic/.test(result.stderr), result.stderr);
    const listing = await namespace.run("nft", "list", "ruleset");
    for (const text of row.holds ?? []) assert.ok(listing.includes(text), `${text} is missing`);
    for (const text of row.lacks ?? []) assert.ok(!listing.includes(text), `${text} is there`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function runIn(
  { name }: OwnNamespace,
  { folder, row }: { readonly folder: string; readonly row: Row },
): Promise<CommandResult> {
  return tryCommand([
    ...["ip", "netns", "exec", name, "sh", "-c", `cd ${folder} && ${row.shell}`, "sh"],
    ...ourProgram().argv,
    ...["run", "--hostname-override=node", "--proxy-mode=nftables", "--nodeport-addresses=primary"],
  ], row.stdin);
}
