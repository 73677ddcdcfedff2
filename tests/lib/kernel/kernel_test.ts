import assert from "node:assert/strict";
import { LinuxKernel, type OpenTransport } from "../../../lib/kernel/kernel.ts";

/** A way to nf_tables that never opens, and whoever is told of its death. */
function unopened() {
  const told: { onDeath?: (error: Error) => void } = {};
  const open: OpenTransport = ({ onDeath }) => {
    told.onDeath = onDeath;
    return Promise.reject(new Error("refused"));
  };
  return { open, told };
}

Deno.test("LinuxKernel.untilLost() throws what the way to nf_tables died of", async () => {
  const { open, told } = unopened();
  await using kernel = new LinuxKernel({ open });
  await assert.rejects(kernel.nftables(), /refused/);
  const lost = kernel.untilLost(new AbortController().signal);
  told.onDeath?.(new Error("its worker died"));
  await assert.rejects(lost, /its worker died/);
});

Deno.test("LinuxKernel.untilLost() resolves with the signal", async () => {
  await using kernel = new LinuxKernel({ open: unopened().open });
  await kernel.untilLost(AbortSignal.abort());
});

Deno.test("LinuxKernel.xtables() runs the tools of the search path for the older tables alone", async () => {
  const { open } = unopened();
  const searchPath = await Deno.makeTempDir();
  try {
    const tool = `${searchPath}/iptables-legacy-restore`;
    await Deno.writeTextFile(tool, '#!/bin/sh\nPATH=/usr/bin:/bin cat >"$0.input"\n');
    await Deno.chmod(tool, 0o755);
    await using kernel = new LinuxKernel({ open, searchPath });
    const legacy = await kernel.xtables("legacy");
    const chain = { table: "nat", chain: "KUBE-SERVICES" } as const;
    await legacy.commit("IPv4", [{ kind: "add-chain", ...chain }]);
    assert.match(await Deno.readTextFile(`${tool}.input`), /^\*nat\n:KUBE-SERVICES - /);
    await assert.rejects(kernel.xtables("nft"), /refused/);
  } finally {
    await Deno.remove(searchPath, { recursive: true });
  }
});
