/** A folder that stands for the root of another machine. */
import { inFolder } from "../../../fakes/folder.ts";

/** Files by their path: text, bytes, or `-> target` for a link. */
export type HostFiles = Readonly<Record<string, string | Uint8Array>>;

/** Makes the files, runs the work with the folder, and removes it. */
export async function withHost<T>(
  files: HostFiles,
  work: (root: string) => T | Promise<T>,
): Promise<T> {
  return await inFolder(async (root) => {
    for (const [path, content] of Object.entries(files)) {
      const whole = `${root}${path}`;
      await Deno.mkdir(whole.slice(0, whole.lastIndexOf("/")), { recursive: true });
      if (typeof content !== "string") await Deno.writeFile(whole, content);
      else if (content.startsWith("-> ")) await Deno.symlink(content.slice(3), whole);
      else await Deno.writeTextFile(whole, content);
    }
    return await work(root);
  });
}
