/** The files that `--config` means: each path a file, a directory of them, or standard input. */
import { FileError, isDirectory, listFiles, readFile } from "../base/files.ts";
import { maxConfigBytes, type Source } from "./documents.ts";

const endings = [".json", ".yaml", ".yml"];

/** Reads every file once, in the order given. Throws a FileError for what cannot be read. */
export async function readSources(paths: readonly string[]): Promise<Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    const files = path !== "-" && await isDirectory(path) ? await filesOf(path) : [path];
    for (const file of files) sources.push(await readSource(file));
  }
  return sources;
}

/** Reads one file, or standard input as `-`. */
async function readSource(path: string): Promise<Source> {
  const bytes = await readFile(path, { maxBytes: maxConfigBytes });
  return { name: path === "-" ? "<stdin>" : path, bytes };
}

async function filesOf(directory: string): Promise<string[]> {
  const files = (await listFiles(directory)).filter((path) =>
    endings.some((ending) => path.endsWith(ending))
  );
  if (files.length > 0) return files;
  throw new FileError(
    `Cannot read directory "${directory}": it holds no file that ends in ${endings.join(", ")}`,
    { path: directory },
  );
}
