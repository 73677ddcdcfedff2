/** From the arguments to a command and its exit code. What `--version` does not need is loaded later. */
import { describeError } from "./lib/base/errors.ts";
import { processSurroundings } from "./cmd/streams.ts";

// The runtime trusts its store of roots beside the CA of a kubeconfig. An empty store, set before the
// first connection, leaves that CA alone; the machine's roots are read where no CA is given.
Deno.env.set("DENO_TLS_CA_STORE", "");

const surroundings = processSurroundings();

/** What nobody waited for must not end in a stack trace. */
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  fail(event.reason);
});
addEventListener("error", (event) => {
  event.preventDefault();
  fail(event.error);
});

function fail(error: unknown): never {
  surroundings.stderr.write(`Error: ${describeError(error)}\n`);
  Deno.exit(1);
}

async function main(args: readonly string[]): Promise<number> {
  if (args.length === 1 && args[0] === "--version") {
    const { printVersion } = await import("./cmd/version.ts");
    printVersion("true", surroundings.stdout);
    return 0;
  }
  const [{ dispatch }, { commandTree }] = await Promise.all([
    import("./cmd/dispatch.ts"),
    import("./cmd/commands.ts"),
  ]);
  return await dispatch(args, commandTree, surroundings);
}

try {
  Deno.exit(await main(Deno.args));
} catch (error) {
  fail(error);
}
