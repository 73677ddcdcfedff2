/**
 * Streams as kubeadm reads them: a configuration of the proxy among documents of other programs. The
 * others are blanked line by line, so that every place in a message stays the place in the file.
 */
import { apiGroup } from "../documents.ts";

/** A text without the documents of others. */
export interface OwnDocuments {
  readonly text: string;
  /** Kinds of the documents that were left out, in their order. */
  readonly others: readonly string[];
}

/** Undefined for a text that holds no document of this program, or none of another. */
export function withoutForeignDocuments(text: string): OwnDocuments | undefined {
  const documents = text.split(/^(?=---(?:\s|$))/m);
  const groups = documents.map(groupOf);
  if (!groups.includes(apiGroup)) return undefined;
  const isForeign = (group: string | undefined) => group !== undefined && group !== apiGroup;
  if (!groups.some(isForeign)) return undefined;
  const first = groups.indexOf(apiGroup);
  return {
    text: documents.map((document, index) => {
      if (isForeign(groups[index])) return document.replace(/[^\n]+/g, "");
      // Nothing stands before the first one any more that it has to be parted from.
      return index === first ? document.replace(/^---[ \t]*\n/, "\n") : document;
    }).join(""),
    others: documents.filter((_, index) => isForeign(groups[index])).map(kindOf),
  };
}

/** What stands before the slash; undefined for a document that does not say what it is. */
function groupOf(document: string): string | undefined {
  return /^apiVersion:[ \t]*["']?([^\s"'#/]+)\//m.exec(document)?.[1];
}

function kindOf(document: string): string {
  return /^kind:[ \t]*["']?([^\s"'#]+)/m.exec(document)?.[1] ?? "one of unknown kind";
}
