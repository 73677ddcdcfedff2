import assert from "node:assert/strict";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import type { ServiceDescription } from "../scenarios/description.ts";
import { expectedFate } from "../scenarios/expected.ts";
import { type FateRow, nameOfRow } from "../scenarios/fate.ts";
import { expectationOf, frontendsOf } from "../scenarios/model.ts";
import { allModes, setupsOf } from "../scenarios/setups.ts";
import { shopFates } from "../scenarios/shop_fates.ts";
import { shopServices } from "../scenarios/shop_services.ts";

Deno.test("the table of fates has unique rows, and at least 75", () => {
  const names = shopFates.map(nameOfRow);
  assert.deepEqual(names.filter((name, i) => names.indexOf(name) !== i), []);
  assert.ok(names.length >= 75, `${names.length} rows`);
});

Deno.test("the model says what the table of fates says, in every set-up and family", () => {
  let compared = 0;
  for (const setup of allModes.flatMap(setupsOf)) {
    for (const family of ipFamilies) {
      for (const row of shopFates) {
        const modelled = modelRow(row, family);
        if (modelled === undefined) continue;
        compared++;
        const place = { setup, family };
        assert.deepEqual(
          expectedFate(modelled, place),
          expectedFate(row, place),
          `${family} ${nameOfRow(row)}, ${setup.name}`,
        );
      }
    }
  }
  assert.ok(compared > 6000, `${compared} rows were compared`);
});

/** The row as the model sees it; undefined where the model has no opinion. */
function modelRow(row: FateRow, family: "IPv4" | "IPv6"): FateRow | undefined {
  // Who is in the node's own network, and who lends the node its address, is no matter of policies.
  if (row.expect.kind === "host-network" || row.sourceIsDestination) return undefined;
  if (row.to.kind === "unallocated") return undefined;
  const to = row.to;
  const service = shopServices.find((each) => each.name === to.service);
  assert.ok(service, to.service);
  const port = service.ports.find((each) =>
    each.port === to.port && each.protocol === row.protocol
  );
  if (port === undefined || !isFrontend(service, to.kind)) return undefined;
  return {
    ...row,
    expect: expectationOf(service, { from: row.from, to: to.kind, port, family }),
  };
}

function isFrontend(service: ServiceDescription, kind: string): boolean {
  return frontendsOf(service).some((each) => each === kind);
}
