/**
 * What rules of nftables mode are made of, each asked of the kernel by an operation of its own in one
 * batch that cannot succeed: the kernel answers each of them, and forgets all.
 */
import { describeError } from "../../base/errors.ts";
import {
  isNotPermitted,
  isUncertain,
  lacksNfTables,
  NfTablesError,
} from "../../kernel/nf_tables/errors.ts";
import { moduleState } from "../../kernel/inspection/module_inventory.ts";
import type { ModuleInventory } from "../../kernel/inspection/module_inventory.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type {
  NftFamily,
  NftOperation,
  NftSelector,
  NftStatement,
} from "../../kernel/nftables/operations.ts";
import type { FactReader } from "../fact.ts";
import { known, unknown } from "./known.ts";
import type { ExpressionGap, ExpressionProbe } from "./node_values.ts";

/** What the reader works with. */
export interface ExpressionsOptions {
  readonly nftables: () => Promise<Pick<Nftables, "commit">>;
  /** Whether the kernel may be asked: that may make it load modules. */
  readonly mayProbe: boolean;
}

/** Asks the kernel, or looks at its modules where it may not be asked. */
export function expressionsReader(
  { mayProbe, nftables }: ExpressionsOptions,
): FactReader<ExpressionProbe> {
  return {
    // The kernel may have to load twenty modules from a slow disk.
    timeoutMs: 30_000,
    read: async ({ facts }) => {
      if (!mayProbe) {
        const modules = await facts.read("modules");
        return modules.kind === "value" ? known(readModules(modules.value)) : modules;
      }
      try {
        return known(await probe(await nftables()));
      } catch (error) {
        if (isNotPermitted(error)) return unknown(describeError(error), "Run it as root.");
        if (!lacksNfTables(error)) throw error;
        return known({ how: "tried", hasNfTables: false, missing: [], untold: [] });
      }
    },
  };
}

/** One operation, and what it shows. */
interface Trial {
  readonly what: string;
  readonly modules: readonly string[];
  readonly operation: NftOperation;
}

const families: readonly NftFamily[] = ["ip", "ip6"];
const chain = "trial";
const frontend: readonly NftSelector[] = ["daddr", "l4proto", "dport"];

async function probe(nftables: Pick<Nftables, "commit">): Promise<ExpressionProbe> {
  const missing: ExpressionGap[] = [];
  for (const family of families) missing.push(...await missingIn(nftables, family));
  return { how: "tried", hasNfTables: true, missing, untold: [] };
}

async function missingIn(
  nftables: Pick<Nftables, "commit">,
  family: NftFamily,
): Promise<readonly ExpressionGap[]> {
  const trials = trialsOf(family);
  const operations: NftOperation[] = [
    { kind: "add-table" },
    { kind: "add-chain", chain: { name: chain } },
    ...trials.map(({ operation }) => operation),
    { kind: "delete-set", set: "never-there" },
  ];
  const table = { family, name: "kube-proxy-doctor" };
  try {
    await nftables.commit(table, operations);
  } catch (error) {
    if (!(error instanceof NfTablesError) || isNotPermitted(error) || isUncertain(error)) {
      throw error;
    }
    const [first] = error.failures;
    // Without nf_tables the batch as a whole is refused.
    if (first.operation < 2) throw error;
    const gaps = error.failures.flatMap(({ message, operation }) => {
      const trial = trials[operation - 2];
      return trial ? [{ what: trial.what, modules: trial.modules, reason: message }] : [];
    });
    return gaps.filter(({ what }, at) => gaps.findIndex((gap) => gap.what === what) === at);
  }
  throw new Error("Cannot ask the kernel for expressions: it took what it should have refused");
}

function trialsOf(family: NftFamily): readonly Trial[] {
  const name = family === "ip" ? "IPv4" : "IPv6";
  const number = family === "ip" ? "ipv4" : "ipv6";
  const address = family === "ip" ? "192.0.2.1" : "2001:db8::1";
  const rule = (
    what: string,
    modules: readonly string[],
    ...statements: NftStatement[]
  ): Trial => ({
    what: `${what} (${name})`,
    modules,
    operation: { kind: "add-rule", rule: { chain, statements } },
  });
  const set = (what: string, operation: Extract<NftOperation, { kind: "add-set" }>): Trial => ({
    what: `${what} (${name})`,
    modules: ["nf_tables"],
    operation,
  });
  const key = ["addr", "inet_proto", "inet_service"] as const;
  const accept = { kind: "accept" } as const;
  return [
    {
      what: `chain type nat (${name})`,
      modules: ["nft_chain_nat"],
      operation: {
        kind: "add-chain",
        chain: { name: "nat", base: { type: "nat", hook: "prerouting", priority: -101 } },
      },
    },
    set("verdict map", {
      kind: "add-set",
      set: { name: "map", key: [...key], value: "verdict" },
    }),
    set("set that a packet updates", {
      kind: "add-set",
      set: { name: "clients", key: ["addr"], dynamicTimeoutSeconds: 10 },
    }),
    set("ranges of addresses and ports", {
      kind: "add-set",
      set: { name: "ranges", key: ["addr", "inet_service", "addr"], interval: true },
    }),
    rule("fib", ["nft_fib", `nft_fib_${number}`], { kind: "match-local", select: "daddr" }),
    rule("numgen", ["nft_numgen"], {
      kind: "random-verdict",
      verdicts: [accept, { kind: "drop" }],
    }),
    rule("ct", ["nft_ct"], { kind: "match-ct-new" }),
    rule("nat", ["nft_nat"], { kind: "dnat", address, port: 80 }),
    rule("masq", ["nft_masq"], { kind: "masquerade", fullyRandom: true }),
    rule("reject", [`nft_reject_${number}`], { kind: "reject" }),
    rule("reject with tcp reset", [`nft_reject_${number}`], { kind: "reject", tcpReset: true }),
    rule("verdict map", ["nf_tables"], { kind: "vmap", select: frontend, map: "map" }),
    rule("set that a packet updates", ["nf_tables"], {
      kind: "update-set",
      set: "clients",
      select: ["saddr"],
    }),
  ];
}

/** What is there but not loaded counts as available. */
function readModules(inventory: ModuleInventory): ExpressionProbe {
  const trials = families.flatMap(trialsOf);
  const states = (modules: readonly string[]) =>
    modules.map((name) => moduleState(inventory, name));
  const missing = trials.filter(({ modules }) => states(modules).includes("missing"));
  const untold = trials.filter(({ modules }) => states(modules).includes("unknown"));
  return {
    how: "read",
    hasNfTables: moduleState(inventory, "nf_tables") !== "missing",
    missing: missing.map(({ modules, what }) => ({
      what,
      modules,
      reason: `this kernel has no module ${modules.join(" or ")}`,
    })),
    untold: [...new Set(untold.flatMap(({ modules }) => modules))],
  };
}
