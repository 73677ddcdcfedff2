import assert from "node:assert/strict";
import { FakeCommands } from "../../../lib/kernel/fake_commands.ts";
import { loadModule } from "../../../lib/kernel/modules.ts";

const wanted = { module: "ip_vs", what: "use IPVS" };
const wayOut = `; run "modprobe ip_vs" on the node, or install the kernel's modules there`;
const missing = 'Cannot use IPVS: the kernel module "ip_vs" is not loaded';

Deno.test("loadModule() runs modprobe", async () => {
  const commands = new FakeCommands({ modprobe: () => ({}) });
  await loadModule(commands, wanted);
  assert.deepEqual(commands.ran, ["modprobe ip_vs"]);
});

Deno.test("loadModule() tells modprobe's last words, its exit code, or that it is missing", async () => {
  const rows: readonly (readonly [FakeCommands, string])[] = [
    [
      new FakeCommands({
        modprobe: () => ({
          exitCode: 1,
          stderr: "warning\nmodprobe: FATAL: Module ip_vs not found\n",
        }),
      }),
      " (modprobe: FATAL: Module ip_vs not found)",
    ],
    [new FakeCommands({ modprobe: () => ({ exitCode: 7 }) }), " (modprobe ended with exit code 7)"],
    [new FakeCommands(), " (modprobe is not installed here)"],
  ];
  for (const [commands, reason] of rows) {
    await assert.rejects(loadModule(commands, wanted), {
      name: "KernelModuleError",
      module: "ip_vs",
      message: `${missing}${reason}${wayOut}`,
    });
  }
});
