/** One network namespace for one test, and this thread inside it. */
import { inNetworkNamespace } from "../../../lib/kernel/netns.ts";
import { runCommand } from "./command.ts";
import { createNamespaces, ownedPrefix, removeNamespaces } from "./namespaces.ts";

/** A namespace that is there while the test runs. */
export interface OwnNamespace {
  readonly name: string;
  /** Runs a tool inside; throws with its words when it fails. */
  run(...argv: readonly string[]): Promise<string>;
  /** Calls a function with this thread inside; what it opens before it first waits stays there. */
  inside<T>(action: () => T): T;
}

/** Makes a namespace with loopback up, runs the body, and removes it whatever happens. */
export async function withOwnNamespace(
  body: (namespace: OwnNamespace) => Promise<void>,
): Promise<void> {
  const name = `${ownedPrefix()}own`;
  await createNamespaces([name]);
  try {
    await runCommand(["ip", "-n", name, "link", "set", "lo", "up"]);
    await body({
      name,
      run: (...argv) => runCommand(["ip", "netns", "exec", name, ...argv]),
      inside: (action) => enter(name, action),
    });
  } finally {
    await removeNamespaces([name]);
  }
}

/** Also takes functions that go on asynchronously, which must open all they need at once. */
function enter<T>(name: string, action: () => T): T {
  const results: T[] = [];
  inNetworkNamespace(`/run/netns/${name}`, () => {
    results.push(action());
  });
  return results[0];
}
