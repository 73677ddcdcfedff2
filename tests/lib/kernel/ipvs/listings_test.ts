/** Servers that are listed while others come and go. */
import assert from "node:assert/strict";
import { type IpvsFrontend, type IpvsServer } from "../../../../lib/kernel/ipvs/ipvs.ts";
import { readListings } from "../../../../lib/kernel/ipvs/listings.ts";
import { frontendText } from "../../../../lib/kernel/ipvs/text.ts";
import { web } from "./behaviour_cases.ts";

const at = (port: number): IpvsServer => ({ ...web, port });
const row = (frontend: IpvsFrontend) => ({ frontend, destinations: [] });

/** Answers each question for a listing with the next of these, the last one again and again. */
function scripted(servers: readonly number[], ...tables: readonly (readonly number[])[]) {
  const asked = { tables: 0, finds: [] as string[] };
  const there = new Set(tables.at(-1));
  const entries = readListings({
    servers: () => servers.map(at),
    table: () => tables[Math.min(asked.tables++, tables.length - 1)].map(at).map(row),
    find: (frontend) => {
      asked.finds.push(frontendText(frontend));
      return there.has(frontend.port) ? { server: at(frontend.port), destinations: [] } : undefined;
    },
  });
  return { ...asked, ports: entries.map(({ server }) => server.port).sort((a, b) => a - b) };
}

Deno.test("readListings() asks once where both listings name the same servers", () => {
  assert.deepEqual(scripted([1, 2, 3], [3, 2, 1]), { tables: 1, finds: [], ports: [1, 2, 3] });
});

Deno.test("readListings() finds a server that both first listings missed", () => {
  const { finds, ports, tables } = scripted([1, 3, 4], [1, 4, 9], [1, 2, 4, 9], [1, 2, 3, 4, 9]);
  assert.deepEqual(ports, [1, 2, 3, 4, 9]);
  // The second brought something new; then two have to bring nothing.
  assert.equal(tables, 4);
  assert.deepEqual(finds, ["-t 10.96.0.1:9", "-t 10.96.0.1:2"]);
});

Deno.test("readListings() leaves out what went meanwhile", () => {
  assert.deepEqual(scripted([1, 2, 5], [1, 2], [1, 2]).ports, [1, 2]);
});

Deno.test("readListings() ends however many come", () => {
  const tables = Array.from({ length: 50 }, (_, step) => [1, 100 + step]);
  const { tables: asked, ports } = scripted([1], ...tables);
  assert.equal(asked, 10);
  assert.equal(ports[0], 1);
});
