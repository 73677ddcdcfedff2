/** A process that follows Services and prints each name once it is there: for tests of a process's surroundings. */
import type { ControlPlaneAccess } from "./control_plane.ts";
import { followServices } from "./follow.ts";

const access: ControlPlaneAccess = JSON.parse(Deno.args[0]);
const encoder = new TextEncoder();
const said = new Set<string>();

await followServices(access, { timing: { connectionSilenceMs: 1_000 } }, async (follower) => {
  for (;;) {
    await follower.until("news", () => follower.names.some((name) => !said.has(name)), 600_000);
    for (const name of follower.names.filter((name) => !said.has(name))) {
      said.add(name);
      Deno.stdout.writeSync(encoder.encode(`${name}\n`));
    }
  }
});
