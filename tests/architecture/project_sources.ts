/** The project's own TypeScript, as it stands on the disk. */
import type { SourceFile } from "./checker.ts";

/** All sources below the root, which ends in a slash, sorted by path. */
export async function projectSources(root: string): Promise<SourceFile[]> {
  const files = [{ path: "main.ts", text: await Deno.readTextFile(`${root}main.ts`) }];
  for (const folder of ["cmd/", "lib/", "scripts/", "tests/"]) await collect(root, folder, files);
  return files.sort((a, b) => a.path < b.path ? -1 : 1);
}

async function collect(root: string, folder: string, files: SourceFile[]): Promise<void> {
  for await (const entry of Deno.readDir(root + folder)) {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory && entry.name !== "node_modules") await collect(root, `${path}/`, files);
    if (entry.isFile && path.endsWith(".ts")) {
      files.push({ path, text: await Deno.readTextFile(root + path) });
    }
  }
}
