/** A copy of the project in which one file at a time is wrong, and what its tests say of it. */

/** What tests said. */
export type Verdict =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly output: string }
  | { readonly kind: "late" };

/** A run of tests in the copy. */
export interface TestRun {
  readonly tests: readonly string[];
  readonly limitSeconds: number;
  readonly signal: AbortSignal;
  readonly arguments?: readonly string[];
}

/** One copy serves one mutant at a time. */
export class TreeCopy implements AsyncDisposable {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  /** Copies what git knows and what is new; packages are shared. The path ends in a slash. */
  static async of(project: string, folder?: string): Promise<TreeCopy> {
    const root = await Deno.makeTempDir({
      prefix: "kube-proxy-mutants-",
      ...folder === undefined ? {} : { dir: folder },
    });
    const listed = await new Deno.Command("git", {
      args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
      cwd: project,
    }).output();
    const folders = new Set<string>();
    for (const path of new TextDecoder().decode(listed.stdout).split("\0").filter(Boolean)) {
      const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
      if (!folders.has(folder)) await Deno.mkdir(`${root}/${folder}`, { recursive: true });
      folders.add(folder);
      await Deno.copyFile(`${project}${path}`, `${root}/${path}`).catch((error) => {
        // Deleted, and git has not been told yet.
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
    await Deno.symlink(`${project}node_modules`, `${root}/node_modules`);
    const settings = await Deno.readTextFile(`${root}/deno.json`);
    await Deno.writeTextFile(
      `${root}/deno.json`,
      settings.replace('"nodeModulesDir": "auto"', '"nodeModulesDir": "manual"'),
    );
    return new TreeCopy(root);
  }

  /** Runs the action while the file has another text. */
  async with<T>(path: string, text: string, action: () => Promise<T>): Promise<T> {
    const file = `${this.root}/${path}`;
    const original = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, text);
    try {
      return await action();
    } finally {
      await Deno.writeTextFile(file, original);
    }
  }

  /**
   * Ends with the first test that fails, and at the limit whatever was started. Several files are run as
   * one, in their order: to load the program anew for each would take most of the time.
   */
  async test({ tests, limitSeconds, signal, arguments: more = [] }: TestRun): Promise<Verdict> {
    const gathered = `${this.root}/gathered_test.ts`;
    await Deno.writeTextFile(gathered, tests.map((test) => `import "./${test}";\n`).join(""));
    const deno = [Deno.execPath(), "test", "-A", "--quiet", "--no-check", "--fail-fast"];
    const limited = ["timeout", "--kill-after=1", String(Math.ceil(limitSeconds))];
    const [program, ...args] = [...isolation(), ...limited, ...deno, ...more, gathered];
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args,
      cwd: this.root,
      env: environment(),
      clearEnv: true,
      signal,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    signal.throwIfAborted();
    if (code === 0) return { kind: "passed" };
    if (code === 124 || code === 137) return { kind: "late" };
    const decoder = new TextDecoder();
    return { kind: "failed", output: decoder.decode(stdout) + decoder.decode(stderr) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** A golden text must not follow a fault, and no long form is wanted. */
function environment(): Record<string, string> {
  const { UPDATE_GOLDEN: _golden, KUBE_PROXY_TEST_FULL: _full, ...rest } = Deno.env.toObject();
  return { ...rest, NO_COLOR: "1" };
}

/** Faulty code run by root gets a network of its own, where it can break nothing. */
function isolation(): string[] {
  return Deno.uid() === 0
    ? ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    : [];
}
