/** A process around a command that tests can look into. */
import type { CommandEntry, Surroundings } from "../../cmd/command.ts";
import { dispatch } from "../../cmd/dispatch.ts";

export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunSetup {
  readonly entries: readonly CommandEntry[];
  readonly groups?: readonly { readonly word: string; readonly summary: string }[];
  readonly isTerminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Dispatches the arguments and collects everything that is said. */
export async function runProgram(args: readonly string[], setup: RunSetup): Promise<Ran> {
  const said = { stdout: "", stderr: "" };
  const output = (stream: "stdout" | "stderr") => ({
    write: (text: string) => void (said[stream] += text),
    isTerminal: setup.isTerminal ?? false,
  });
  const surroundings: Surroundings = {
    stdin: { readable: new ReadableStream(), isTerminal: setup.isTerminal ?? false },
    stdout: output("stdout"),
    stderr: output("stderr"),
    pid: 4321,
    env: (name) => setup.env?.[name],
    signal: new AbortController().signal,
  };
  const tree = { entries: setup.entries, groups: setup.groups ?? [] };
  const exitCode = await dispatch(args, tree, surroundings);
  return { exitCode, ...said };
}
