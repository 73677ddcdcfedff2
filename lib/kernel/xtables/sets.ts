/** Sets that rules look into: iptables names them, the kernel's structures hold their numbers. */

/** Where names and numbers of sets are found. */
export interface XtSets {
  /** Undefined: no such set. */
  indexOf(name: string): number | undefined;
  /** Undefined: no such set. */
  nameOf(index: number): string | undefined;
}

/** There are none. */
export const noSets: XtSets = { indexOf: () => undefined, nameOf: () => undefined };

/**
 * Asks once for each set. Only for as long as one commit or one reading takes: a set that is destroyed
 * gives its number to another one.
 */
export function rememberSets(sets: XtSets): XtSets {
  const indexes = new Map<string, number | undefined>();
  const names = new Map<number, string | undefined>();
  return {
    indexOf(name) {
      if (!indexes.has(name)) indexes.set(name, sets.indexOf(name));
      return indexes.get(name);
    },
    nameOf(index) {
      if (!names.has(index)) names.set(index, sets.nameOf(index));
      return names.get(index);
    },
  };
}
