/** More different texts than this are no vocabulary: the pool starts over. */
const limit = 65_536;

/** Makes equal texts one string, for values that a hundred thousand objects repeat. */
export class SharedTexts {
  readonly #texts = new Map<string, string>();

  share(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= limit) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}
