/** A C structure of xtables with its name: what `match` and `target` expressions hold. */

/** A structure with the name and revision by which the kernel finds who reads it. */
export interface XtStructure {
  readonly name: string;
  readonly revision: number;
  readonly info: Uint8Array;
}

/** A structure of so many bytes, filled by the function. */
export function makeStructure(
  { bytes, name, revision }: {
    readonly name: string;
    readonly revision: number;
    readonly bytes: number;
  },
  fill: (view: DataView, info: Uint8Array) => void,
): XtStructure {
  const info = new Uint8Array(bytes);
  fill(new DataView(info.buffer), info);
  return { name, revision, info };
}
