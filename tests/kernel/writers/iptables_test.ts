/** The writer on the kernel's own tables: what it makes is what the tools make of its text. */
import assert from "node:assert/strict";
import { ipFamilies, type IpFamily } from "../../../lib/base/ip_family.ts";
import { FakeNfacct } from "../../../lib/kernel/nfacct/fake_nfacct.ts";
import { NftXtables } from "../../../lib/kernel/xtables/nft_xtables.ts";
import { toolOf } from "../../../lib/kernel/xtables/rules.ts";
import type { XtBackend } from "../../../lib/kernel/xtables/xtables.ts";
import { Counters } from "../../../lib/writers/iptables/counters.ts";
import { chainsOf, invalidCounter, localhostCounter } from "../../../lib/writers/iptables/names.ts";
import { renderText } from "../../../lib/writers/iptables/render.ts";
import { IptablesWriter } from "../../../lib/writers/iptables/writer.ts";
import {
  contextOf,
  everyShape,
  plainFacts,
  snapshotOf,
} from "../../lib/writers/iptables/samples.ts";
import { XtNamespace } from "../xtables/namespace.ts";

const signal = new AbortController().signal;
const tables = ["filter", "nat", "mangle"] as const;

async function open(): Promise<XtNamespace> {
  const namespace = await XtNamespace.create();
  for (const name of [invalidCounter, localhostCounter]) namespace.addCounter(name);
  return namespace;
}

function writerIn(namespace: XtNamespace, family: IpFamily, backend: XtBackend): IptablesWriter {
  const xtables = backend === "nft" ? new NftXtables(namespace.transport()) : namespace.legacy();
  return new IptablesWriter({
    family,
    xtables,
    facts: plainFacts,
    counters: new Counters(new FakeNfacct()),
  });
}

for (const family of ipFamilies) {
  for (const backend of ["nft", "legacy"] as const) {
    const name = `${family}, ${backend}`;

    Deno.test(`a first sync makes what the tool makes of the printed text, ${name}`, async () => {
      await using ours = await open();
      await using theirs = await open();
      const services = everyShape(family);
      const writer = writerIn(ours, family, backend);
      await writer.sync(snapshotOf(family, services), { kind: "all" }, signal);
      const text = await renderText({ context: contextOf(family), services });
      await theirs.restore(text, { family, backend });
      for (const table of tables) {
        const saved = await ours.save({ family, backend, table });
        assert.equal(saved, await theirs.save({ family, backend, table }));
      }
      if (backend === "nft") {
        // Only chains that lead to ours: each costs every packet a little.
        const hooks = [...(await ours.run(["nft", "list", "ruleset"])).matchAll(/hook (\w+)/g)];
        const names = hooks.map(([, hook]) => hook).toSorted();
        const wanted = ["forward", "input", "output", "output", "postrouting", "prerouting"];
        assert.deepEqual(names, wanted);
      }
      // Over rules that another program wrote, in its own form, nothing is left to do.
      const later = writerIn(theirs, family, backend);
      const report = await later.sync(snapshotOf(family, services), { kind: "all" }, signal);
      assert.equal(report.written, 0);
    });

    Deno.test(`changes end as a clean start, and edits of others are repaired, ${name}`, async () => {
      await using namespace = await open();
      const shapes = everyShape(family);
      const writer = writerIn(namespace, family, backend);
      await writer.sync(snapshotOf(family, shapes), { kind: "all" }, signal);
      const before = await saves(namespace, family, backend);
      for (const shape of shapes) {
        const without = snapshotOf(family, shapes.filter((each) => each !== shape));
        const changes = { kind: "some", services: new Set([shape.key]), settings: false } as const;
        assert.equal((await writer.sync(without, changes, signal)).full, false);
        await writer.sync(snapshotOf(family, shapes), changes, signal);
        assert.equal(await writer.drifted(signal), false);
      }
      assert.equal(await saves(namespace, family, backend), before);
      const tool = `${toolOf(family)}-${backend}`;
      await namespace.run([tool, "-t", "nat", "-D", "KUBE-SERVICES", "1"]);
      await namespace.run([tool, "-F", "KUBE-FORWARD"]);
      assert.equal(await writer.drifted(signal), true);
      await writer.sync(snapshotOf(family, shapes), { kind: "all" }, signal);
      assert.equal(await saves(namespace, family, backend), before);
    });

    Deno.test(`a chain of a Service that is gone waits for others' rules that lead to it, ${name}`, async () => {
      await using namespace = await open();
      const [first, ...others] = everyShape(family);
      const writer = writerIn(namespace, family, backend);
      const clean = snapshotOf(family, others);
      await writer.sync(clean, { kind: "all" }, signal);
      const before = await saves(namespace, family, backend);
      const changes = { kind: "some", services: new Set([first.key]), settings: false } as const;
      await writer.sync(snapshotOf(family, [first, ...others]), changes, signal);
      const { cluster: chain } = chainsOf(first);
      const nat = [`${toolOf(family)}-${backend}`, "-t", "nat"];
      await namespace.run([...nat, "-A", "OUTPUT", "-j", chain]);
      const report = await writer.sync(clean, changes, signal);
      assert.ok(report.notices.some(({ message }) => message.includes(`"${chain}"`)));
      assert.equal((await namespace.run([...nat, "-S", chain])).trim(), `-N ${chain}`);
      assert.equal(await writer.drifted(signal), false);
      assert.equal((await writer.sync(clean, { kind: "all" }, signal)).written, 0);
      await namespace.run([...nat, "-D", "OUTPUT", "-j", chain]);
      await writer.sync(clean, { kind: "all" }, signal);
      assert.equal(await saves(namespace, family, backend), before);
    });
  }
}

/** All tables, lines sorted: the order of Services in shared chains is free. */
async function saves(
  namespace: XtNamespace,
  family: IpFamily,
  backend: XtBackend,
): Promise<string> {
  const texts = [];
  for (const table of tables) {
    const text = await namespace.save({ family, backend, table });
    texts.push(...text.split("\n").toSorted());
  }
  return texts.join("\n");
}
