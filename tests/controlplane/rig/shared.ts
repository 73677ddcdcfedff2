/**
 * One control plane for all test modules of a run: the first to ask starts a keeper process, which
 * ends by itself, with everything it started, when the run's process is gone.
 */
import { ControlPlane, type ControlPlaneAccess } from "./control_plane.ts";
import { enterNamespace } from "./network.ts";

const startDeadlineMs = 90_000;
const pollMs = 100;

/** The run's control plane; the calling thread is in its namespace afterwards. Do not break it. */
export async function sharedControlPlane(): Promise<ControlPlaneAccess> {
  const path = statePath(Deno.pid);
  const access = read(path) ?? await startKeeper(path);
  enterNamespace(access.namespace);
  return access;
}

async function startKeeper(path: string): Promise<ControlPlaneAccess> {
  // Deno kills its children when a module ends, and the keeper outlives this one on purpose.
  await new Deno.Command("sh", {
    args: ["-c", '"$@" &', "sh", Deno.execPath(), "run", "-A", "--no-check"]
      .concat(import.meta.filename ?? "", String(Deno.pid)),
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).output();
  const deadline = Date.now() + startDeadlineMs;
  while (Date.now() < deadline) {
    const access = read(path);
    if (access) return access;
    const failure = readText(`${path}.failed`);
    if (failure) throw new Error(failure);
    await sleep();
  }
  throw new Error(`Cannot start the shared control plane: not ready after ${startDeadlineMs} ms`);
}

async function keep(owner: number): Promise<void> {
  const path = statePath(owner);
  try {
    await using plane = await ControlPlane.start();
    await Deno.writeTextFile(`${path}.new`, JSON.stringify(plane.access), { mode: 0o600 });
    await Deno.rename(`${path}.new`, path);
    while (isAlive(owner)) await sleep();
  } catch (error) {
    await Deno.writeTextFile(`${path}.failed`, String(error));
    while (isAlive(owner)) await sleep();
  } finally {
    await Deno.remove(path).catch(() => {});
    await Deno.remove(`${path}.failed`).catch(() => {});
  }
}

function statePath(owner: number): string {
  return `${Deno.env.get("TMPDIR") ?? "/tmp"}/kube-proxy-controlplane-${owner}.json`;
}

function read(path: string): ControlPlaneAccess | undefined {
  const text = readText(path);
  return text === undefined ? undefined : JSON.parse(text);
}

function readText(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}

function sleep(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pollMs));
}

if (import.meta.main) await keep(Number(Deno.args[0]));
