/** The commands that a page shows to people, and what it says they print. */

/** A command as it stands on the page. */
export interface ShownCommand {
  readonly page: string;
  /** Without the comment behind it: `kube-proxy run --manifests examples/shop`. */
  readonly line: string;
  /** What stands below it in a console block; undefined where the page shows no output. */
  readonly output: string | undefined;
}

/**
 * Every command of this program in the fenced blocks and code spans of a Markdown page. In a block of
 * `console` commands stand behind `$ `, and what is between them is output.
 */
export function shownCommands(page: string, markdown: string): readonly ShownCommand[] {
  const found: ShownCommand[] = [];
  const blocks = markdown.matchAll(/^```(\w*)\n([^]*?)^```$/gm);
  for (const [, language, text] of blocks) {
    if (language === "console") found.push(...consoleCommands(page, text));
    else found.push(...plainCommands(page, text));
  }
  const prose = markdown.replaceAll(/^```\w*\n[^]*?^```$/gm, "");
  for (const [, span] of prose.matchAll(/`([^`]+)`/g)) found.push(...plainCommands(page, span));
  return found;
}

function consoleCommands(page: string, text: string): readonly ShownCommand[] {
  return text.split(/^\$ /m).slice(1).flatMap((part) => {
    const end = part.indexOf("\n");
    const line = part.slice(0, end);
    const output = part.slice(end + 1).trimEnd();
    return isOurs(line) ? [{ page, line, output: output === "" ? undefined : output }] : [];
  });
}

function plainCommands(page: string, text: string): readonly ShownCommand[] {
  return text.split("\n").map((line) => line.replace(/\s+# .*$/, "").trim()).filter(isOurs)
    .map((line) => ({ page, line, output: undefined }));
}

/** With words behind it: the name alone is no command to run. */
function isOurs(line: string): boolean {
  return /(^|\| |-- )kube-proxy \S/.test(line);
}
