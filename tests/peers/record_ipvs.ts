/**
 * Records what upstream's proxy leaves on a node in ipvs mode for the shop's cluster in each set-up:
 * rules, virtual servers, sets, addresses. It runs in a virtual machine, since this machine's kernel
 * may have no IPVS.
 *   deno run -A tests/peers/record_ipvs.ts
 */
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { ControlPlane } from "../controlplane/rig/control_plane.ts";
import { controlPlaneVersion } from "../controlplane/rig/binaries.ts";
import { Drive } from "../vm/drive.ts";
import { provideTools, runGuest } from "../vm/guest.ts";
import { toldBy } from "../vm/outside.ts";
import { complaintOf } from "../vm/verdict.ts";
import { writeRecordedRules } from "./recorded_rules.ts";

const script = "tests/vm/record/upstream_ipvs.ts";
const kernel = "6.1";
const LIMIT_SECONDS = 900;

/** One line of the guest's. */
interface Recorded {
  readonly setup: string;
  readonly family: IpFamily;
  readonly lines: readonly string[];
}

const tools = await provideTools();
await using drive = await Drive.create();
await using plane = await ControlPlane.start();
const options = { tools, drive, kernel, plane: plane.access, limitSeconds: LIMIT_SECONDS } as const;
const verdict = (await runGuest({ ...options, tests: [script] })).get(script);
if (verdict?.kind !== "passed") {
  throw new Error(`Cannot record: ${verdict ? complaintOf(verdict) : "the guest ran nothing"}`);
}
const all = toldBy<Recorded>(verdict.output, "recorded");
const day = new Date().toISOString().slice(0, 10);
const version = (await Deno.readTextFile(`${tools}/${kernel}/version`)).trim();
for (const family of ipFamilies) {
  const own = all.filter((each) => each.family === family);
  await writeRecordedRules(family, {
    title: `upstream's kube-proxy ${controlPlaneVersion}, Linux ${version}, ${day}`,
    mode: "ipvs",
    saves: new Map(own.map(({ setup, lines }) => [setup, lines])),
  });
}
