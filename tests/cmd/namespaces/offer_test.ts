import assert from "node:assert/strict";
import { createOptInCommand } from "../../../cmd/namespaces/opt_in.ts";
import { createOptOutCommand } from "../../../cmd/namespaces/opt_out.ts";
import { FakeApiserver } from "../../fakes/apiserver.ts";
import { createTestClient } from "../../fakes/kube_client.ts";
import { runProgram } from "../surroundings.ts";

const label = "networking.k8s.io/kube-proxy";
const namespaces = [
  { metadata: { name: "shop", labels: {} } },
  { metadata: { name: "mesh", labels: { [label]: "disabled" } } },
  { metadata: { name: "odd", labels: { [label]: "off" } } },
];
const commands = { "opt-in": createOptInCommand, "opt-out": createOptOutCommand };

async function offers(action: "opt-in" | "opt-out", typed: readonly string[], status = 200) {
  await using server = await FakeApiserver.start();
  server.override = (request) => {
    const labelled = request.query.has("labelSelector");
    const items = namespaces.filter(({ metadata }) => !labelled || label in metadata.labels);
    return Response.json({ items, code: status }, { status });
  };
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
    contentType: "application/json",
  });
  const command = commands[action](() => Promise.resolve(client));
  const ran = await runProgram(["__complete", "do", ...typed, ""], {
    entries: [{ words: ["do"], summary: "", load: () => Promise.resolve(command) }],
  });
  transport[Symbol.dispose]();
  return ran;
}

const cases = [
  { action: "opt-out", typed: [], offered: "odd\nshop\n" },
  { action: "opt-out", typed: ["shop", "--yes", "-o", "json", "--force"], offered: "odd\n" },
  { action: "opt-in", typed: [], offered: "mesh\nodd\n" },
  { action: "opt-in", typed: ["--dry-run", "odd"], offered: "mesh\n" },
] as const;

for (const { action, typed, offered } of cases) {
  Deno.test(`after "${action} ${typed.join(" ")}" these namespaces are offered`, async () => {
    assert.deepEqual(await offers(action, typed), { exitCode: 0, stdout: offered, stderr: "" });
  });
}

Deno.test("a cluster that refuses has nothing to offer, and says nothing", async () => {
  assert.deepEqual(await offers("opt-out", [], 403), { exitCode: 0, stdout: "", stderr: "" });
});

Deno.test("a cluster that cannot be reached has nothing to offer", async () => {
  const command = createOptInCommand(() => Promise.reject(new Error("no cluster")));
  const ran = await runProgram(["__complete", "do", ""], {
    entries: [{ words: ["do"], summary: "", load: () => Promise.resolve(command) }],
  });
  assert.deepEqual(ran, { exitCode: 0, stdout: "", stderr: "" });
});
