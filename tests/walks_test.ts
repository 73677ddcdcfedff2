/**
 * The walks of `lib/README.md` are lists of files, in the order in which they are passed. This follows
 * them: the files are there, each imports one that was passed before or is imported by one, and no
 * room is entered twice.
 */
import assert from "node:assert/strict";
import { readSource, roomOf } from "./architecture/checker.ts";

const root = new URL("..", import.meta.url).pathname;

interface Walk {
  readonly title: string;
  readonly files: readonly string[];
}

/** Lists whose items begin with a path, by the heading above them. */
function walksOf(readme: string): readonly Walk[] {
  const sections = readme.split(/^(?=##)/m).filter((text) => text.startsWith("### "));
  return sections.map((section) => ({
    title: section.slice(4, section.indexOf("\n")),
    files: [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path]) =>
      new URL(path, "file:///lib/").pathname.slice(1)
    ),
  }));
}

/** What each file imports; undefined for one that is not there. */
type ImportsOf = (path: string) => readonly string[] | undefined;

function faultsOf({ files }: Walk, importsOf: ImportsOf): readonly string[] {
  const faults: string[] = [];
  const rooms: string[] = [];
  const known = new Map(files.map((path) => [path, importsOf(path)]));
  for (const [at, path] of files.entries()) {
    const imports = known.get(path);
    if (!imports) {
      faults.push(`${path} is not there`);
      continue;
    }
    const before = files.slice(0, at);
    const isJoined = before.some((other) =>
      imports.includes(other) || known.get(other)?.includes(path)
    );
    if (at > 0 && !isJoined) {
      faults.push(`${path} neither imports a file before it nor is imported by one`);
    }
    const room = roomOf(path)?.path ?? "no room";
    if (rooms.at(-1) === room) continue;
    if (rooms.includes(room)) faults.push(`${path} enters ${room} again`);
    rooms.push(room);
  }
  return faults;
}

function importsInTree(path: string): readonly string[] | undefined {
  try {
    const text = Deno.readTextFileSync(root + path);
    return readSource({ path, text }).doors.imports.map(({ target }) => target);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

Deno.test("the walks of the map can be walked", async () => {
  const walks = walksOf(await Deno.readTextFile(`${root}lib/README.md`));
  assert.deepEqual(walks.map(({ files }) => files.length), [25, 9]);
  for (const walk of walks) assert.deepEqual(faultsOf(walk, importsInTree), []);
});

/** Files of a tree that is not there. */
const planted: Readonly<Record<string, readonly string[]>> = {
  "lib/kube/a.ts": [],
  "lib/watchers/b.ts": ["lib/kube/a.ts"],
  "lib/trackers/c.ts": [],
  "lib/kube/d.ts": ["lib/watchers/b.ts"],
};

for (
  const { name, files, faults } of [
    { name: "a way that can be walked", files: ["lib/kube/a.ts", "lib/watchers/b.ts"], faults: [] },
    { name: "the same, backwards", files: ["lib/watchers/b.ts", "lib/kube/a.ts"], faults: [] },
    {
      name: "a file that moved",
      files: ["lib/kube/a.ts", "lib/kube/gone.ts"],
      faults: ["lib/kube/gone.ts is not there"],
    },
    {
      name: "a step that nothing joins",
      files: ["lib/kube/a.ts", "lib/trackers/c.ts"],
      faults: ["lib/trackers/c.ts neither imports a file before it nor is imported by one"],
    },
    {
      name: "a room that is entered again",
      files: ["lib/kube/a.ts", "lib/watchers/b.ts", "lib/kube/d.ts"],
      faults: ["lib/kube/d.ts enters lib/kube/ again"],
    },
  ]
) {
  Deno.test(`a walk's faults are found: ${name}`, () => {
    assert.deepEqual(faultsOf({ title: name, files }, (path) => planted[path]), faults);
  });
}

Deno.test("walks are read from lists under their headings", () => {
  const text =
    "# House\n### One\n1. `kube/a.ts`: x,\n   and more\n2. `../cmd/b.ts`: y\n\n## End\n1. `kube/c.ts`: z\n";
  assert.deepEqual(walksOf(text), [{ title: "One", files: ["lib/kube/a.ts", "cmd/b.ts"] }]);
});
