/** What clients see while something is done to the rules under them. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../lib/base/ip_family.ts";
import type { DualStack } from "../../scenarios/addresses.ts";
import type { Cluster } from "./cluster.ts";
import { patience } from "./patience.ts";

/** A first packet that is sent again comes after a second; where all is emulated, other things are as late. */
const MOST_MS = 900 * patience;

/** Whom the clients ask, and how often. */
export interface Load {
  readonly address: DualStack;
  readonly perSecond: number;
}

/** Does it while clients open connections in both families, none of which may fail or be answered late. */
export async function underLoad(
  cluster: Cluster,
  { address, perSecond }: Load,
  action: () => Promise<void>,
): Promise<void> {
  const ends = await Promise.all(ipFamilies.map((family) =>
    cluster.agent.startLoad({
      namespace: cluster.namespace("client-a"),
      address: address[family],
      port: 80,
      protocol: "TCP",
      perSecond: perSecond / ipFamilies.length,
      timeoutMs: 2_000 * patience,
    })
  ));
  await action();
  for (const end of ends) {
    const { attempts, failed, slowestMs } = await end();
    assert.ok(attempts > 10, `${attempts} connections`);
    assert.deepEqual(failed, {});
    assert.ok(slowestMs < MOST_MS, `the slowest took ${slowestMs} ms`);
  }
}
