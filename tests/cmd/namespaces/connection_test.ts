/** Which cluster the commands ask, by flag and environment. */
import assert from "node:assert/strict";
import { commandTree } from "../../../cmd/commands.ts";
// Before the tests: a library that one of them loads first would be its leak.
import "../../../lib/kernel/libc.ts";
import { FakeApiserver } from "../../fakes/apiserver.ts";
import { inFolder } from "../../fakes/folder.ts";
import { kubeconfigFor } from "../run/proxy_rig.ts";
import { runProgram } from "../surroundings.ts";
import { FakeCluster } from "./fake_cluster.ts";

/** What `namespaces list` prints, with files of two clusters in the folder. */
async function listed(
  args: (folder: string) => readonly string[],
  env: (folder: string) => Readonly<Record<string, string>> = () => ({}),
) {
  return await inFolder(async (folder) => {
    await using ours = await FakeApiserver.start();
    await using theirs = await FakeApiserver.start();
    const [one, other] = [{ ours: "disabled" }, { theirs: "disabled" }]
      .map((labels) => new FakeCluster(labels));
    ours.override = (request) => one.answer(request);
    theirs.override = (request) => other.answer(request);
    await Deno.writeTextFile(`${folder}/ours`, kubeconfigFor(ours));
    await Deno.writeTextFile(`${folder}/theirs`, kubeconfigFor(theirs));
    const ran = await runProgram(["namespaces", "list", ...args(folder)], {
      ...commandTree,
      env: env(folder),
    });
    const agents = ours.requests.map(({ headers }) => headers.get("user-agent"));
    return { ...ran, agents };
  });
}

/** The client of a command ends with its process, and nothing closes it before. */
const open = { sanitizeResources: false } as const;

Deno.test("namespaces asks the cluster of --kubeconfig, and says who asks", open, async () => {
  const { agents, exitCode, stdout, stderr } = await listed(
    (folder) => ["--kubeconfig", `${folder}/ours`],
    (folder) => ({ KUBECONFIG: `${folder}/theirs` }),
  );
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^ours /m);
  assert.doesNotMatch(stdout, /theirs/);
  assert.ok(agents.length > 0);
  for (const agent of agents) assert.match(agent ?? "", /^kube-proxy\/\S+ namespaces$/);
});

Deno.test("namespaces asks the cluster of KUBECONFIG where no flag names one", open, async () => {
  const { exitCode, stdout, stderr } = await listed(
    () => [],
    (folder) => ({ KUBECONFIG: `${folder}/theirs` }),
  );
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^theirs /m);
});

Deno.test("namespaces does not choose among several files", async () => {
  const { exitCode, stderr } = await listed(() => [], () => ({ KUBECONFIG: "/a:/b" }));
  assert.equal(exitCode, 2);
  assert.equal(
    stderr,
    'Error: KUBECONFIG names several files ("/a:/b"); give one with --kubeconfig\n',
  );
});

Deno.test("namespaces says that it knows no cluster", async () => {
  const { exitCode, stderr } = await listed(() => []);
  assert.equal(exitCode, 1);
  assert.match(stderr, /^Error: Cannot .*\n$/);
});
