/** Text in a column of limited width. */

/** Where lines begin and end, and how one that goes on ends. */
export interface WrapOptions {
  readonly width: number;
  readonly indent: string;
  /** Stands before the first line's text, inside of the width; the others are as far in. */
  readonly head?: string;
  /** Ends a line that goes on, such as ` \` in a command. */
  readonly more?: string;
}

/** Lines of at most that width; a word that is longer is cut. */
export function wrap(text: string, options: WrapOptions): readonly string[] {
  const { head = "", indent, more = "", width } = options;
  const room = Math.max(10, width - indent.length - head.length - more.length);
  const lines: string[] = [];
  for (const word of text.split(" ").flatMap((each) => cut(each, room))) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= room) lines[last] += ` ${word}`;
    else lines.push(word);
  }
  return lines.map((line, i) => {
    const start = i === 0 ? head : " ".repeat(head.length);
    return `${indent}${start}${line}${i < lines.length - 1 ? more : ""}`.trimEnd();
  });
}

function cut(word: string, room: number): readonly string[] {
  if (word.length <= room) return [word];
  return [word.slice(0, room), ...cut(word.slice(room), room)];
}
