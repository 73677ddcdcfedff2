/** The answers of the older engine, as its headers lay them out. */
import assert from "node:assert/strict";
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { KernelFiles } from "../../../../lib/kernel/kernel_files.ts";
import { ProcLegacyTables } from "../../../../lib/kernel/xtables/legacy_tables.ts";
import { type LibcFunctions, replacingLibc } from "../../../fakes/recorded_kernel.ts";
import { inFolder } from "../../../fakes/folder.ts";

/** `struct ipt_entry` and `struct ip6t_entry` up to the counters' end. */
const entryBytes: Readonly<Record<IpFamily, number>> = { IPv4: 112, IPv6: 168 };
const nextOffset: Readonly<Record<IpFamily, number>> = { IPv4: 88, IPv6: 140 };
const levels: Readonly<Record<IpFamily, number>> = { IPv4: 0, IPv6: 41 };

/** One rule, with a target of the name; what follows the name is the chain's where it is an error. */
function entry(family: IpFamily, target: string, chain = ""): Uint8Array {
  const head = entryBytes[family];
  const bytes = new Uint8Array(head + 64);
  const view = new DataView(bytes.buffer);
  view.setUint16(nextOffset[family], head, true);
  view.setUint16(nextOffset[family] + 2, bytes.length, true);
  view.setUint16(head, 64, true);
  new TextEncoder().encodeInto(target, bytes.subarray(head + 2));
  new TextEncoder().encodeInto(chain, bytes.subarray(head + 32));
  return bytes;
}

interface Kernel {
  readonly entries: Uint8Array;
  readonly refuse?: "socket" | "getsockopt" | "getsockoptLater";
}

/** What is asked of a kernel whose table holds these entries, and what the action gives. */
async function asked<T>({ entries, refuse }: Kernel, action: () => T | Promise<T>) {
  const questions: string[] = [];
  const errno = new Int32Array([Errno.EPERM]);
  const getsockopt: LibcFunctions["getsockopt"] = (_fd, level, option, buffer, length) => {
    const answer = buffer as Uint8Array;
    const table = new TextDecoder().decode(answer.subarray(0, 32)).replaceAll("\0", "");
    const size = new DataView((length as Uint8Array).buffer).getUint32(0, true);
    questions.push(`ask ${level}/${option} ${table} ${size}`);
    if (refuse === "getsockopt") return -1;
    const view = new DataView(answer.buffer);
    if (option === 64) {
      view.setUint32(76, 3, true);
      view.setUint32(80, entries.length, true);
    } else {
      assert.equal(view.getUint32(32, true), entries.length);
      answer.set(entries, 40);
    }
    return 0;
  };
  const functions: Partial<LibcFunctions> = {
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: (family) => {
      questions.push(`socket ${family}`);
      return refuse === "socket" ? -1 : 0;
    },
    close: (fd) => {
      questions.push(`close ${fd}`);
      return 0;
    },
    getsockopt,
    getsockoptLater: (...question) =>
      Promise.resolve(refuse === "getsockoptLater" ? -1 : getsockopt(...question)),
  };
  const result = await replacingLibc(functions, action);
  return { questions, result };
}

for (const family of ["IPv4", "IPv6"] as const) {
  Deno.test(`chains() of ${family} reads the names that begin chains, and no other`, async () => {
    const entries = Uint8Array.from([
      ...entry(family, "ERROR", "KUBE-SERVICES"),
      ...entry(family, "DNAT", "no chain"),
      ...entry(family, "ERROR", "KUBE-SVC-ABCDEFGHIJKLMNOP-29X"),
      ...entry(family, "ERROR", "ERROR"),
    ]);
    const { questions, result } = await asked(
      { entries },
      () => new ProcLegacyTables().chains(family, "nat"),
    );
    assert.deepEqual(result, ["KUBE-SERVICES", "KUBE-SVC-ABCDEFGHIJKLMNOP-29X"]);
    const socket = `socket ${family === "IPv4" ? 2 : 10}`;
    assert.deepEqual(questions, [
      socket,
      `ask ${levels[family]}/64 nat 84`,
      `ask ${levels[family]}/65 nat ${40 + entries.length}`,
      "close 0",
    ]);
  });
}

for (const family of ["IPv4", "IPv6"] as const) {
  Deno.test(`among() of ${family} gives those of the chains that are in the table`, async () => {
    const entries = Uint8Array.from(
      ["FIRST", "SECOND", "THIRD", "ERROR"].flatMap((chain) => [...entry(family, "ERROR", chain)]),
    );
    const among = (...chains: readonly string[]) => () =>
      new ProcLegacyTables().among(family, "nat", chains);
    const { questions, result } = await asked({ entries }, among("THIRD", "GONE", "FIRST"));
    assert.deepEqual(result, ["FIRST", "THIRD"]);
    const size = `ask ${levels[family]}/64 nat 84`;
    const rules = `ask ${levels[family]}/65 nat ${40 + entries.length}`;
    assert.deepEqual(questions.slice(1, -1), [size, rules, size]);
    assert.equal(questions.at(-1), "close 0");
    assert.deepEqual((await asked({ entries }, among("SECOND"))).result, ["SECOND"]);
    assert.deepEqual((await asked({ entries }, among())).result, []);
    const changed = await asked({ entries, refuse: "getsockoptLater" }, among("FIRST"));
    assert.deepEqual([changed.result, changed.questions.at(-1)], [undefined, "close 0"]);
  });
}

Deno.test("chains() refuses an entry without a length instead of reading it for ever", async () => {
  const entries = entry("IPv4", "ERROR", "A");
  new DataView(entries.buffer).setUint16(nextOffset.IPv4 + 2, 0, true);
  await assert.rejects(
    () => asked({ entries }, () => new ProcLegacyTables().chains("IPv4", "nat")),
    /Cannot read the rules of iptables: an entry says 0 bytes/,
  );
});

Deno.test("chains() reads nothing behind the end", async () => {
  const entries = entry("IPv4", "ERROR", "A").subarray(0, 150);
  await assert.rejects(
    () => asked({ entries }, () => new ProcLegacyTables().chains("IPv4", "nat")),
    /Cannot read the rules of iptables: an entry says 176 bytes/,
  );
});

Deno.test("info() tells entries and bytes, and closes its socket when it is refused", async () => {
  const tables = new ProcLegacyTables();
  const entries = new Uint8Array(24);
  const good = await asked({ entries }, () => tables.info("IPv4", "filter"));
  assert.deepEqual(good.result, { entries: 3, bytes: 24 });
  const refused = await asked({ entries, refuse: "getsockopt" }, () => {
    assert.throws(
      () => tables.info("IPv6", "filter"),
      /read the size of ip6tables table "filter".*EPERM/,
    );
  });
  assert.deepEqual(refused.questions, ["socket 10", "ask 41/64 filter 84", "close 0"]);
  const none = await asked({ entries, refuse: "socket" }, () => {
    assert.throws(() => tables.info("IPv4", "filter"), /EPERM/);
  });
  assert.deepEqual(none.questions, ["socket 2"]);
});

Deno.test("loaded() lists the tables that there are, in the order of all", () =>
  inFolder(async (root) => {
    const folder = `${root}/proc/1/net`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${folder}/ip_tables_names`, "raw\nnat\nfilter\n");
    const tables = new ProcLegacyTables(new KernelFiles(root));
    assert.deepEqual(tables.loaded("IPv4"), ["raw", "nat", "filter"]);
    assert.deepEqual(tables.loaded("IPv6"), []);
  }));
