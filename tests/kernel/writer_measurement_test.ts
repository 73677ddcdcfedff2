/** The machinery of `scripts/bench writer`, in small: that it measures, not how fast anything is. */
import assert from "node:assert/strict";
import { measure } from "../bench/writer_measurement.ts";

Deno.test("measure() times loads, adoptions and changes of the writer and of nft", async () => {
  const { chainPerService, nft, writer } = await measure({
    services: 200,
    endpoints: 3,
    changes: 10,
    nftChanges: 2,
    rounds: 1,
  });
  assert.equal(writer.adoptionsWrote, 0);
  const counts = (figures: readonly (readonly number[])[]) =>
    figures.map((times) => times.filter((time) => time > 0).length);
  assert.deepEqual(counts([writer.loadsMs, writer.adoptionsMs, writer.changesMs]), [1, 1, 10]);
  assert.deepEqual(counts([nft.loadsMs, nft.changesMs]), [1, 2]);
  assert.deepEqual(counts([chainPerService.loadsMs, chainPerService.changesMs]), [1, 2]);
});
