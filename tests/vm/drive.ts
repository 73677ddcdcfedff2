/** The drive that guests read: the sources, their packages, Deno, and upstream's and our executable if they are built. */
import { findProgram } from "../controlplane/rig/binaries.ts";
import { runCommand } from "../kernel/rig/command.ts";

/** What guest tests import and run. */
const sources = [
  ...["main.ts", "lib", "cmd", "scripts", "tests", "examples", "deno.lock", "node_modules"],
];
/** Large packages that only the tests of other tiers need. */
const unneeded = ["@kubernetes+client-node@", "@esbuild+", "@types+"];
/** Room for what a file system needs itself. */
const SPARE_MB = 48;

/** A read-only ext4 file system in a file of its own; any number of guests read it at once. */
export class Drive implements AsyncDisposable {
  readonly path: string;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.path = `${folder}/drive`;
  }

  /** Takes the checkout in the working directory as it is. */
  static async create(): Promise<Drive> {
    const drive = new Drive(await Deno.makeTempDir({ prefix: "kpt-drive-" }));
    try {
      await drive.#fill();
      return drive;
    } catch (error) {
      await drive[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #fill(): Promise<void> {
    const tree = `${this.#folder}/tree`;
    await Deno.mkdir(`${tree}/bin`, { recursive: true });
    await runCommand(["cp", "-a", "--reflink=auto", ...sources, tree]);
    const packages = `${tree}/node_modules/.deno`;
    for (const { name } of Deno.readDirSync(packages)) {
      if (!unneeded.some((start) => name.startsWith(start))) continue;
      await Deno.remove(`${packages}/${name}`, { recursive: true });
    }
    const config = JSON.parse(await Deno.readTextFile("deno.json"));
    // The guest has no registry to compare the installed packages with.
    const inGuest = { ...config, nodeModulesDir: "manual" };
    await Deno.writeTextFile(`${tree}/deno.json`, JSON.stringify(inGuest));
    await Deno.copyFile(Deno.execPath(), `${tree}/bin/deno`);
    const program = Deno.env.get("KUBE_PROXY_TEST_BINARY");
    if (program !== undefined) await Deno.copyFile(program, `${tree}/bin/ours`);
    const upstream = findProgram("kube-proxy");
    if (upstream !== undefined) await Deno.copyFile(upstream, `${tree}/bin/kube-proxy`);
    const used = Number((await runCommand(["du", "-sm", tree])).split("\t")[0]);
    const size = `${Math.ceil(used * 1.1) + SPARE_MB}M`;
    // A journal is for those who write.
    const options = ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0"];
    await runCommand(["mke2fs", ...options, "-d", tree, this.path, size]);
    await Deno.remove(tree, { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}
