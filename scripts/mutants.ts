/** The program of scripts/mutants. */
import { runMutants } from "../tests/mutants/mutants.ts";
import { percentKilled, reportOf } from "../tests/mutants/result.ts";
import { readWanted } from "../tests/mutants/wanted.ts";

const write = (stream: typeof Deno.stdout, line: string) =>
  stream.writeSync(new TextEncoder().encode(`${line}\n`));

const wanted = readWanted(Deno.args);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => stop.abort(new Error(`Ended by ${signal}`)));
}
const result = await runMutants({
  root: new URL("..", import.meta.url).pathname,
  wanted,
  signal: stop.signal,
  tell: (line) => write(Deno.stderr, line),
});
for (const line of reportOf(result, wanted.floor)) write(Deno.stdout, line);
Deno.exit(percentKilled(result) < wanted.floor ? 1 : 0);
