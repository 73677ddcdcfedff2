/** Finds where JSON text stops being JSON, where the engine's own message does not tell. */

/** Everything that may stand between two places where a value begins; strings are passed as a whole. */
const token = /[\s]+|"(?:[^"\\]|\\[\s\S])*"|[-+0-9.a-zA-Z]+|[{}[\],:]/y;
const words = ["false", "null", "true"] as const;

/**
 * The offset of the first character that cannot be where it is because a value should begin or go on
 * there: what V8 calls an unexpected token. The text's length where there is none.
 */
export function offsetOfUnexpectedToken(text: string): number {
  const pattern = new RegExp(token);
  const inList: boolean[] = [];
  let wanted: "value" | "value or end" | "other" = "value";
  for (let offset = 0; offset < text.length; offset = pattern.lastIndex) {
    const found = pattern.exec(text)?.[0];
    if (found === undefined) return offset;
    if (/^\s/.test(found)) continue;
    if (wanted !== "other" && !(wanted === "value or end" && found === "]")) {
      const good = beginningOfValue(found);
      if (good < found.length) return offset + good;
    }
    if (found === "[" || found === "{") inList.push(found === "[");
    if (found === "]" || found === "}") inList.pop();
    if (found === "[") wanted = "value or end";
    else wanted = found === ":" || found === "," && inList.at(-1) ? "value" : "other";
  }
  return text.length;
}

/** How many characters of the token can be a value, or begin one. */
function beginningOfValue(found: string): number {
  if (/^["{[\d-]/.test(found)) return found.length;
  const word = words.find((each) => each[0] === found[0]);
  if (word === undefined) return 0;
  let length = 0;
  while (length < found.length && found[length] === word[length]) length++;
  // A word that ends too early is missed behind its last letter.
  return length === found.length && length < word.length ? length - 1 : length;
}
